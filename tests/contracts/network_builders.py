"""What is stored of networks, built with few words."""

import platform

from record_builders import START

from results.lease import Lease
from results.network import NetworkOriginal, NetworkProbe

DEAD = Lease(platform.node(), "no such boot", 1, "0")


def an_original(host: str = "h2", setting: str = "mtu", value: str = "1500", owner: str = str(DEAD)) -> NetworkOriginal:
    return NetworkOriginal(host, "eth0", setting, value, ("ssh", "-F", "lab"), "tuned", owner, START)


def a_probe(study: str | None = None) -> NetworkProbe:
    points = ((1, 29.0), (1024, 40.0), (8_388_608, 71_000.0))
    return NetworkProbe(study, START, "NPtcp", ("h1", "h2"), "eth0", {"mtu": 9000}, 29.0, 945.2, points)
