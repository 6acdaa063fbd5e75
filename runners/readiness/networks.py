"""The networks between nodes: how nodes are talked to, and which address each node has on each network."""

import queue
import socket
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network

from ..errors import UnreachableError
from ..hosts.hearing import CommandResult, LineProcess
from ..hosts.node_facts import own_networks
from ..hosts.transport import Local, Transport, parsed, say_all, say_each
from ..settings.survey import ADDRESSES, Interface, interfaces_in

END_S = 10.0
"""Seconds that a program has to end after its input did."""


class NodeTalk(LineProcess):
    """A program that runs on a node until `close`, or until this process ends: its input ends then."""

    def __init__(self, reach: Transport, node: str, command: Sequence[str]) -> None:
        """Start the program.

        Raises:
            UnreachableError: the local program that reaches the node cannot be started.
            InvalidJobError: the node is no host name.
        """
        self.node = node
        self._last = ""
        argv = reach.argv(node, command)
        try:
            super().__init__(argv)
        except OSError as error:
            raise UnreachableError(f"node {node}: cannot start {argv[0]}: {error.strerror}", node) from error

    def hear(self, kinds: Collection[str], timeout_s: float) -> list[str]:
        """Wait for the next line that begins with one of these words; its parts have tabs in between.

        Raises:
            UnreachableError: the program has ended, or says nothing for this time.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                line = self.next_line(deadline_s - time.monotonic())
            except queue.Empty:
                raise UnreachableError(f"node {self.node}: no answer within {timeout_s:.0f} s", self.node) from None
            if line is None:
                why = self._last or "the connection to it ended"
                raise UnreachableError(f"node {self.node}: {why}", self.node)
            parts = line.split("\t")
            if parts[0] in kinds:
                return parts
            self._last = line or self._last

    def close(self) -> None:
        """End the program."""
        self.end_input()
        self.wait(END_S)


SOFTWARE = ("docker", "br-", "veth", "virbr", "cni", "flannel", "cali")
"""What names of interfaces begin with that software makes on a node for itself; no other node is behind them."""
_PATH = 'PATH=$PATH:/usr/sbin:/sbin; exec "$@"'
_RESOLVE = 'for name; do printf "%s\\t%s\\n" "$name" "$(getent ahostsv4 "$name" | awk \'NR == 1 { print $1 }\')"; done'


@dataclass(frozen=True)
class NodeNetwork:
    """A network that nodes share.

    Attributes:
        name: of the interface, as "eth0".
        addresses: IPv4 address of each node on it.
    """

    name: str
    addresses: Mapping[str, str]


def networks_of(
    reach: Transport, nodes: Sequence[str], interfaces: Sequence[str] = ()
) -> tuple[list[NodeNetwork], list[str]]:
    """Ask nodes for their addresses.

    Args:
        interfaces: names of interfaces, each a network of its own. Without them it is the one network over which nodes
            find each other by their names, else the one that most of them share.

    Returns:
        The networks, and a sentence about each node that is not on one.
    """
    own, unread = _interfaces(reach, nodes)
    if not interfaces:
        usual, notes = _usual(_resolved(reach, nodes), own, nodes)
        return [usual], [*unread, *notes]
    networks, notes = [], unread
    for name in interfaces:
        addresses = {node: each.address for node in nodes for each in own.get(node, ()) if each.name == name}
        lacking = [node for node in nodes if node not in addresses]
        notes += [f"node {node}: {name} has no IPv4 address, so nothing is sent over it." for node in lacking]
        networks.append(NodeNetwork(name, addresses))
    return networks, notes


def _interfaces(reach: Transport, nodes: Sequence[str]) -> tuple[dict[str, tuple[Interface, ...]], list[str]]:
    """Return by node the interfaces that have an address and lead to other nodes, and a note of each unread answer."""
    found: dict[str, tuple[Interface, ...]] = {}
    notes = []
    for node, said in say_all(reach, nodes, ("sh", "-c", _PATH, "sh", *ADDRESSES)).items():
        if isinstance(said, UnreachableError):
            continue
        try:
            found[node] = tuple(
                each
                for each in parsed(node, interfaces_in, said.stdout)
                if each.up and each.address and not each.loopback and not each.name.startswith(SOFTWARE)
            )
        except UnreachableError as error:
            notes.append(f"{error}.")
    return found, notes


def _resolved(reach: Transport, nodes: Sequence[str]) -> dict[str, str]:
    """Return the addresses that the names of nodes have on the first node that tells them."""
    for node in nodes:
        said = say_all(reach, [node], ("sh", "-c", _RESOLVE, "sh", *nodes))[node]
        if not isinstance(said, UnreachableError):
            return {
                name: address
                for name, _, address in (line.partition("\t") for line in said.stdout.splitlines())
                if address
            }
    return {}


def _usual(
    resolved: Mapping[str, str], own: Mapping[str, Sequence[Interface]], nodes: Sequence[str]
) -> tuple[NodeNetwork, list[str]]:
    """Choose for each node the address that its name has; where that is none of its own, the network of most nodes."""
    members = Counter(_network(each) for interfaces in own.values() for each in interfaces)
    addresses: dict[str, str] = {}
    names: Counter[str] = Counter()
    for node in nodes:
        interfaces = own.get(node, ())
        named = next((each for each in interfaces if each.address == resolved.get(node)), None)
        chosen = named or max(interfaces, key=lambda each: members[_network(each)], default=None)
        if chosen is not None:
            addresses[node] = chosen.address
            names[chosen.name] += 1
        elif node in resolved and not resolved[node].startswith("127."):
            addresses[node] = resolved[node]
    notes = [
        f"node {node}: no IPv4 address of it is known, so nothing is sent to it."
        for node in nodes
        if node not in addresses
    ]
    return NodeNetwork(names.most_common(1)[0][0] if names else "its name", addresses), notes


def _network(interface: Interface) -> str:
    return str(ip_network(f"{interface.address}/{interface.prefix}", strict=False))


SHOWN = 8
"""Nodes that a sentence names."""
PORTS = (34567, 45678, 56789)
"""High ports, as MPI takes; nothing need listen there, for a host that lets us in refuses at once."""
_KNOCK = rf"""
command -v bash >/dev/null || exit 0
for address in "$@"; do for port in {" ".join(map(str, PORTS))}; do
    {{
        said=$(LC_ALL=C timeout 3 bash -c 'exec 3<>"/dev/tcp/$1/$2"' bash "$address" "$port" 2>&1)
        case "$?$said" in 0* | *refused*) echo "$address" ;; esac
    }} &
done; done
wait
echo knocked
"""
"""Names an address for each of its ports from which something comes back; a node without bash says nothing."""


def no_way(reach: Transport, nodes: Sequence[str], interfaces: Sequence[str]) -> str:
    """Return the sentence between which hosts no connection can be made; "" where all can, and where nobody knows.

    Each node knocks at this host, and at its neighbour in the list. Only IPv4 is tried.

    Args:
        interfaces: network interfaces that MPI may use; none means all.
    """
    networks, here = own_networks(), socket.gethostname()
    own = [str(ip_interface(address).ip) for name, address in networks.items() if name in interfaces or not interfaces]
    if networks and not own:
        told = ", ".join(interfaces)
        return f"this host ({here}) has no {told} (there: {', '.join(networks)}), which MPI is told to use"
    addresses, after = _ring(reach, nodes, interfaces)
    knocks = {node: ("sh", "-c", _KNOCK, "sh", addresses[other], *own) for node, other in after.items()}
    said = say_each(reach, knocks, timeout_s=20.0)
    heard = {node: own.stdout.split() for node, own in said.items() if isinstance(own, CommandResult)}
    cut = [node for node, words in heard.items() if own and words and not set(own) & set(words)]
    if cut:
        return (
            f"node{'s' if len(cut) > 1 else ''} {_some(cut)} cannot reach this host ({here}, {', '.join(own)}), to "
            "which MPI's daemons there must connect: start hpltune on a node, or let their connections in"
        )
    shut = [
        f"node {node} to node {after[node]} ({addresses[after[node]]})"
        for node, words in heard.items()
        if words and words.count(addresses[after[node]]) < len(PORTS)
    ]
    if not shut:
        return ""
    return (
        f"nothing gets through to high ports from {_some(shut)}, where MPI's ranks must connect: let all ports from "
        "1024 on through the firewall there, or take other interfaces"
    )


def _ring(
    reach: Transport, nodes: Sequence[str], interfaces: Sequence[str]
) -> tuple[Mapping[str, str], dict[str, str]]:
    """Return the address of each node between others, and its neighbour in the list."""
    addresses = networks_of(reach, nodes, interfaces[:1])[0][0].addresses
    there = [node for node in nodes if node in addresses]
    return addresses, dict(zip(there, [*there[1:], *there[:1]], strict=True))


_FITS = r"""
PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
fits() {
    heard=$(ping -c 2 -i 0.3 -W 1 -M do -s "$1" "$2" 2>&1) && return
    case $heard in *mtu*) [ "$1" -gt 56 ] ;; *) return 1 ;; esac
}
for there; do {
    address=$(getent ahostsv4 "$there" | awk 'NR == 1 { print $1 }')
    name=$(ip -o route get "${address:-$there}" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
    mtu=$(ip -o link show dev "$name" 2>/dev/null | sed -n 's/.* mtu \([0-9]*\) .*/\1/p')
    case ${address:-$there} in *:*) head=48 ;; *) head=28 ;; esac
    if [ "$name" = lo ]; then said=fits
    elif [ -z "$mtu" ] || ! fits 56 "${address:-$there}"; then said=unknown
    elif fits $((mtu - head)) "${address:-$there}"; then said=fits
    else said=narrow; fi
    echo "$there $said ${mtu:-0} ${name:--}"
} & done
wait
"""
"""Whether packets as large as the MTU of the interface get to an address in one piece; 28 or 48 bytes are headers.

Where ping is told of a smaller MTU on the way, TCP is, too, and sends smaller packets.
"""


def narrow_ways(
    reach: Transport, hosts: Sequence[str], answering: Sequence[str], interfaces: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return between which hosts large packets do not get through, and between which nobody knows, a sentence each.

    This host asks each host, and each that answers its neighbour in the list. Small messages get through everywhere, so
    a start of ranks does not tell.

    Args:
        interfaces: as `no_way` takes them.
    """
    addresses, after = _ring(reach, answering, interfaces) if answering else ({}, {})
    here, place = f"this host ({socket.gethostname()})", {addresses.get(one, one): one for one in hosts}
    asked = {node: ("sh", "-c", _FITS, "sh", addresses[other]) for node, other in after.items() if other != node}
    heard = {
        **say_all(Local(), [here], ("sh", "-c", _FITS, "sh", *place), timeout_s=20.0),
        **{f"node {node}": said for node, said in say_each(reach, asked, timeout_s=20.0).items()},
    }
    found: dict[tuple[str, ...], list[str]] = {}
    for first, said in heard.items():
        for there, *verdict in map(str.split, said.stdout.splitlines() if isinstance(said, CommandResult) else ()):
            found.setdefault(tuple(verdict), []).append(f"{first} to node {place.get(there, there)}")
    narrow = [
        f"packets of {mtu} bytes, the MTU of {name}, do not get from {_some(pairs)}, and small ones do: a cable, "
        "switch port or NIC between them takes smaller ones: raise its MTU, or lower that of the hosts, as by "
        f"`ip link set dev {name} mtu 1500`"
        for (verdict, mtu, name), pairs in found.items()
        if verdict == "narrow"
    ]
    unknown = [pair for (verdict, *_), pairs in found.items() if verdict == "unknown" for pair in pairs]
    told = f"Whether large packets get from {_some(unknown)} is not known: there is no ping, or no answer to it."
    return narrow, [told] if unknown else []


def _some(named: Sequence[str]) -> str:
    return ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")
