"""Which machine answers to a name: a host with two names is one machine, and copies of one image are several."""

from collections.abc import Mapping
from dataclasses import dataclass

TELL_IDENTITY = r"""
say hostname "$(uname -n)"
say boot "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
say network_space "$(readlink /proc/self/ns/net 2>/dev/null)"
image=$(grep -xE '[0-9a-f]{32}' /etc/machine-id 2>/dev/null)
[ -z "$image" ] || say image "$(printf '%s' "$image" | sha256sum | cut -c-16)"
"""
"""Lines of a script; `say` prints a name and a value. Of the id of a machine, which systemd keeps secret, only a hash
is told."""


@dataclass(frozen=True)
class Identity:
    """What tells a node from others; "" where it does not say.

    Attributes:
        boot: drawn by the kernel at each start.
        network_space: the network namespace: containers of one machine have one each.
        image: of /etc/machine-id, which is made when a system is installed.
    """

    hostname: str = ""
    boot: str = ""
    network_space: str = ""
    image: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """What only names of one host have in common; nothing where the node does not tell its boot."""
        return (self.boot, self.network_space, self.hostname) if self.boot else ()


def told_identity(text: str) -> Identity:
    """Read the lines of TELL_IDENTITY, and of the name of the host."""
    said = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return Identity(*(said.get(name, "").strip() for name in ("hostname", "boot", "network_space", "image")))


def same_host(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the names that lead to one and the same host, in groups of two or more."""
    return _groups({name: own.place for name, own in identities.items()})


def same_kernel(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the hosts that one machine runs as containers, in groups of two or more."""
    others = {name for names in same_host(identities) for name in names[1:]}
    return _groups({name: (own.boot,) * bool(own.boot) for name, own in identities.items() if name not in others})


def same_image(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the machines whose systems are copies of one that was already installed, in groups of two or more."""
    machines: dict[str, str] = {}
    for name, own in identities.items():
        if own.boot:
            machines.setdefault(own.boot, name)
    return _groups({name: (identities[name].image,) * bool(identities[name].image) for name in machines.values()})


def same_hostname(identities: Mapping[str, Identity]) -> list[tuple[str, ...]]:
    """Return the hosts that call themselves by one name and may be different ones, in groups of two or more."""
    others = {name for names in same_host(identities) for name in names[1:]}
    called = {name: own.hostname for name, own in identities.items() if name not in others}
    return _groups({name: (hostname,) * bool(hostname) for name, hostname in called.items()})


def _groups(keys: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Group names by a key; those with an empty one are in no group."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, key in keys.items():
        if key:
            found.setdefault(key, []).append(name)
    return [tuple(names) for names in found.values() if len(names) > 1]


CLONES = (
    "have one /etc/machine-id, as copies of one installed system have: DHCP may give them one address, and their ssh "
    "keys may be one, too"
)
NEW_ID = "rm /etc/machine-id; systemd-machine-id-setup"
"""What gives a machine an id of its own."""
