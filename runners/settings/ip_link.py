"""The settings of `ip link` (iproute2), and the interfaces of a node."""

import json
from dataclasses import dataclass
from typing import Any

from ..errors import RefusedError
from .setting import Command, HostSetting, Reading, Values, checked_interface, whole

LEAST_MTU = 68
"""The smallest MTU that IPv4 allows (RFC 791)."""
MTUS = whole(LEAST_MTU, 65_535, "bytes")


@dataclass(frozen=True)
class Mtu(HostSetting):
    """The largest packet of a link in bytes, IP header included."""

    name: str = "net.mtu"
    values: Values = MTUS
    meaning: str = (
        "The largest packet in bytes. Large packets mean fewer packets and less work for the CPU; every NIC and switch "
        "must accept them."
    )
    per_interface: bool = True
    moves_link: bool = True
    between_nodes: bool = True

    def show(self, interface: str) -> Command:
        """Describe the link as JSON."""
        return ("ip", "-j", "link", "show", "dev", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read the field "mtu"."""
        links = json_of(printed)
        if not links or "mtu" not in links[0]:
            raise RefusedError(last_words(printed))
        return Reading(str(links[0]["mtu"]))

    def write(self, interface: str, value: str) -> Command:
        """Set the MTU."""
        return ("ip", "link", "set", "dev", interface, "mtu", value)


@dataclass(frozen=True)
class Interface:
    """An interface of a node.

    Attributes:
        address: the first IPv4 address, or "".
        mtu: the largest packet in bytes.
        up: whether it is switched on.
        loopback: whether it is the node's loopback interface.
        prefix: bits of the address that name its network.
    """

    name: str
    address: str
    mtu: int
    up: bool
    loopback: bool
    prefix: int = 32


ADDRESSES: Command = ("ip", "-j", "addr", "show")


def interfaces_in(printed: str) -> tuple[Interface, ...]:
    """Parse the interfaces in the output of ADDRESSES."""
    found = []
    for link in json_of(printed):
        flags = link.get("flags", ())
        inet = (entry for entry in link.get("addr_info", ()) if entry.get("family") == "inet")
        first: dict[str, Any] = next(inet, {})
        address, prefix = str(first.get("local", "")), int(first.get("prefixlen", 32))
        name, mtu = str(link.get("ifname", "")), int(link.get("mtu", 0))
        found.append(Interface(name, address, mtu, "UP" in flags, "LOOPBACK" in flags, prefix))
    return tuple(found)


def json_of(printed: str) -> list[dict[str, Any]]:
    """Parse the JSON list of `ip -j`, without the empty objects of old versions; empty if it is no JSON."""
    try:
        found = json.loads(printed)
    except ValueError:
        return []
    return [entry for entry in found if entry] if isinstance(found, list) else []


def last_words(printed: str) -> str:
    """Return the last lines of a command's output as one line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines[-3:])) or "it said nothing"
