"""What must be known of a node before its network is touched."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..errors import RefusedError
from ..hosts.transport import Transport
from .ip_link import ADDRESSES, Interface, interfaces_in, last_words
from .registry import CHOICE
from .script import converse
from .setting import Command

WHO: Command = ("id", "-u")


@dataclass(frozen=True)
class Node:
    """A node as it was found.

    Attributes:
        root: commands run there as root; `sudo -n` is needed otherwise.
    """

    host: str
    root: bool
    interfaces: tuple[Interface, ...]

    def interface(self, name: str) -> Interface | None:
        """The interface of that name, or None."""
        return next((each for each in self.interfaces if each.name == name), None)

    def wired(self) -> tuple[str, ...]:
        """The interfaces that lead out of the node and are up."""
        return tuple(each.name for each in self.interfaces if each.up and not each.loopback)


def look_at(reach: Transport, host: str) -> Node:
    """Look at a node.

    Raises:
        UnreachableError: it does not answer.
        RefusedError: it has no `ip` that can write JSON.
    """
    who, addresses = converse(reach, host, [WHO, ADDRESSES])
    interfaces = interfaces_in(addresses.printed)
    if not interfaces:
        raise RefusedError(
            f"node {host}: `{' '.join(ADDRESSES)}` tells of no interface ({last_words(addresses.printed)}): "
            "iproute2 of 2018 or newer is needed"
        )
    return Node(host, who.printed.strip() == "0", interfaces)


def require_interfaces(nodes: Mapping[str, Node], names: Collection[str]) -> None:
    """Make sure that all nodes have these interfaces.

    Raises:
        RefusedError: one lacks one; the sentence lists those it has.
    """
    for host, node in nodes.items():
        for name in names:
            if node.interface(name) is None:
                has = ", ".join(each.name for each in node.interfaces)
                raise RefusedError(f"node {host} has no interface {name} (it has {has})", CHOICE)
