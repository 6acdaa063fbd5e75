"""Surveys a node before its settings are changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import RefusedError
from ..hosts.transport import Transport
from .journal import place
from .net import json_of, last_words
from .script import NEEDS_RULE, SUDO, converse
from .setting import CHOICE, Command

WHO: Command = ("id", "-u")


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


@dataclass(frozen=True)
class Node:
    """The facts of a node.

    Attributes:
        root: whether commands run as root there; otherwise they need `sudo -n`.
        boot: the id of its boot; "" where that is not known.
    """

    root: bool
    interfaces: tuple[Interface, ...]
    boot: str = ""

    def interface(self, name: str) -> Interface | None:
        """Return the interface of this name, or None."""
        return next((each for each in self.interfaces if each.name == name), None)


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
    return Node(who.printed.strip() == "0", found)


def require_right(reach: Transport, host: str, writes: Mapping[tuple[str, str], Command]) -> None:
    """Make sure that a node lets this user run commands as root; none is run.

    Args:
        writes: by interface and setting the command that sets it.

    Raises:
        RefusedError: the user is not root, and sudo has no rule without a password.
        UnreachableError: the node does not answer.
    """
    who, *allowed = converse(reach, host, [WHO, *((*SUDO, "-l", *command) for command in writes.values())])
    for key, told in zip(writes, allowed, strict=True):
        if who.printed.strip() != "0" and not told.taken:
            raise RefusedError(f"{place(host, *key)} cannot be set: {NEEDS_RULE}", key[1])


def require_interfaces(nodes: Mapping[str, Node], names: Collection[str]) -> None:
    """Make sure that all nodes have these interfaces.

    Raises:
        RefusedError: a node lacks an interface; the sentence lists those it has.
    """
    for host, node in nodes.items():
        for name in names:
            if node.interface(name) is None:
                raise RefusedError(
                    f"node {host} has no interface {name} (it has {', '.join(each.name for each in node.interfaces)})",
                    CHOICE,
                )
