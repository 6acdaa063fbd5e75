"""Tests whether packets as large as the MTU get from node to node: a switch may silently drop large packets."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .script import Told, failure
from .setting import Command
from .survey import Node

HEADERS = 28
"""Bytes of an IPv4 header (20, RFC 791) and an ICMP header (8, RFC 792)."""
PATIENCE_S = 10.0
"""Seconds until all nodes have changed, and until a link that went down is up again."""

_PING = (
    'end=$(($(date +%s) + $4)); until said=$(ping -c 1 -W 1 -M do -I "$1" -s "$2" "$3" 2>&1); do code=$?; '
    '[ $code -ne 127 ] && [ "$(date +%s)" -lt $end ] || { echo "$said"; exit $code; }; sleep 0.2; done'
)


@dataclass(frozen=True)
class PathTest:
    """A test to run on a node.

    Attributes:
        mtu: bytes of the packet, which must not be split on its way.
        source: address of the sending interface; `target` is the address of the next node.
    """

    interface: str
    mtu: int
    source: str
    target: str
    peer: str
    timeout_s: float

    @property
    def command(self) -> Command:
        """Return the command that pings until an answer comes or the time is over."""
        size = str(max(0, self.mtu - HEADERS))
        return ("sh", "-c", _PING, "path-test", self.source, size, self.target, f"{self.timeout_s:.0f}")

    def sentence(self, host: str, told: Told) -> str:
        """Return the sentence why the test failed."""
        if told.exit_code == 127:
            return f"node {host}: ping is missing, so an MTU cannot be tested: install iputils-ping there"
        return (
            f"net.mtu = {self.mtu}: packets of that size do not get from {host} to {self.peer} over {self.interface}; "
            f"the switch or a NIC drops them ({failure(told)})"
        )


def path_tests(
    nodes: Mapping[str, Node], moved: Mapping[str, Iterable[str]], mtu: Callable[[str, str], int], patience_s: float
) -> dict[str, list[PathTest]]:
    """Make each node's tests to the next node in a ring, so that packets pass every switch port both ways.

    Args:
        moved: for each node the interfaces whose link may have changed.
        mtu: returns the MTU of a node's interface after the change.
    """
    tests: dict[str, list[PathTest]] = {}
    for host, interfaces in moved.items():
        for name in interfaces:
            peer = _next(nodes, host, name)
            source = nodes[host].interface(name)
            if peer is None or source is None or not source.address:
                continue
            target = nodes[peer].interface(name)
            size = min(mtu(host, name), mtu(peer, name))
            address = target.address if target else ""
            tests.setdefault(host, []).append(PathTest(name, size, source.address, address, peer, patience_s))
    return tests


def _next(nodes: Mapping[str, Node], host: str, interface: str) -> str | None:
    """Find the next node with an IPv4 address on this interface, or None."""
    names = list(nodes)
    at = names.index(host)
    for name in (*names[at + 1 :], *names[:at]):
        found = nodes[name].interface(interface)
        if found is not None and found.address and not found.loopback:
            return name
    return None
