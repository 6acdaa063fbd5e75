"""Surveys a node before its settings are changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..errors import RefusedError
from ..hosts.transport import Transport
from .ip_link import ADDRESSES, Interface, interfaces_in, last_words
from .script import converse
from .setting import CHOICE, Command

WHO: Command = ("id", "-u")


@dataclass(frozen=True)
class Node:
    """The facts of a node.

    Attributes:
        root: whether commands run as root there; otherwise they need `sudo -n`.
    """

    host: str
    root: bool
    interfaces: tuple[Interface, ...]

    def interface(self, name: str) -> Interface | None:
        """Return the interface of this name, or None."""
        return next((each for each in self.interfaces if each.name == name), None)

    def wired(self) -> tuple[str, ...]:
        """List the interfaces that are up and not loopback."""
        return tuple(each.name for each in self.interfaces if each.up and not each.loopback)


def look_at(reach: Transport, host: str, *, interfaces: bool = True) -> Node:
    """Survey a node.

    Args:
        interfaces: whether its interfaces must be known.

    Raises:
        UnreachableError: the node does not answer.
        RefusedError: the node has no `ip` that can write JSON.
    """
    who, addresses = converse(reach, host, [WHO, ADDRESSES])
    found = interfaces_in(addresses.printed)
    if interfaces and not found:
        raise RefusedError(
            f"node {host}: `{' '.join(ADDRESSES)}` tells of no interface ({last_words(addresses.printed)}): "
            "iproute2 of 2018 or newer is needed"
        )
    return Node(host, who.printed.strip() == "0", found)


def require_interfaces(nodes: Mapping[str, Node], names: Collection[str]) -> None:
    """Make sure that all nodes have these interfaces.

    Raises:
        RefusedError: a node lacks an interface; the sentence lists those it has.
    """
    for host, node in nodes.items():
        for name in names:
            if node.interface(name) is None:
                has = ", ".join(each.name for each in node.interfaces)
                raise RefusedError(f"node {host} has no interface {name} (it has {has})", CHOICE)
