"""What is stored of networks, built with few words."""

import platform
from collections.abc import Collection, Sequence

from record_builders import START

from results.store.lease import Lease
from results.store.networks import NetworkOriginal, NetworkProbe
from runners.settings.journal import Holder, Original

DEAD = Lease(platform.node(), "no such boot", 1, "0")


def an_original(
    host: str = "h2",
    setting: str = "mtu",
    value: str = "1500",
    owner: str = str(DEAD),
    ssh: tuple[str, ...] = ("ssh", "-F", "lab"),
) -> NetworkOriginal:
    return NetworkOriginal(host, "eth0", setting, value, ssh, "tuned", owner, START)


def a_probe(study: str | None = None) -> NetworkProbe:
    points = ((1, 29.0), (1024, 40.0), (8_388_608, 71_000.0))
    return NetworkProbe(study, START, "NPtcp", ("h1", "h2"), "eth0", {"mtu": 9000}, 29.0, 945.2, points)


class Notes:
    """A journal that can be looked into; it keeps the older value, as the store does.

    Args:
        study: what the network is changed for; `owner` the process that does it.
        living: owners of others that still run.
    """

    def __init__(self, study: str = "noted", owner: str = str(Lease.mine()), living: Collection[str] = ()) -> None:
        self.kept: dict[tuple[str, str, str], Original] = {}
        self.holder = Holder(owner, study, lambda other: other in living)

    def remember(self, originals: Sequence[Original]) -> Sequence[Original]:
        return [self.kept.setdefault(each.key, each) for each in originals]

    def forget(self, originals: Sequence[Original]) -> None:
        for each in originals:
            del self.kept[each.key]
