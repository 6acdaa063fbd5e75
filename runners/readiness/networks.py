"""The networks between nodes: how nodes are talked to, and which address each node has on each network."""

import queue
import re
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network

from ..errors import UnreachableError
from ..hosts.hearing import LineProcess
from ..hosts.node_facts import own_networks
from ..hosts.transport import AT_ONCE, Local, Transport, parsed, say_all
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
                raise UnreachableError(f"node {self.node}: {self._last or 'the connection to it ended'}", self.node)
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
    networks = [
        NodeNetwork(name, {node: each.address for node in nodes for each in own.get(node, ()) if each.name == name})
        for name in interfaces
    ]
    lacking = [(node, network.name) for network in networks for node in nodes if node not in network.addresses]
    notes = [f"node {node}: {name} has no IPv4 address, so nothing is sent over it." for node, name in lacking]
    return networks, [*unread, *notes]


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
    chosen = {
        node: max(interfaces, key=lambda each: (each.address == resolved.get(node), members[_network(each)]))
        for node, interfaces in own.items()
        if interfaces
    }
    named = {node: address for node, address in resolved.items() if node in nodes and not address.startswith("127.")}
    addresses = named | {node: each.address for node, each in chosen.items()}
    names = Counter(each.name for each in chosen.values())
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
PORTS = 3
"""High ports at which a node listens, chosen by its kernel as MPI's are."""
WAYS_S = 15.0
"""Seconds that hosts have to listen, and then to look; a listener that nobody ends ends after both."""
_LISTEN = f"""
(
    for python in python3 /usr/libexec/platform-python; do
        "$python" -c "import signal, socket" && exec "$python" -c '
import signal, socket
signal.alarm({2 * WAYS_S:.0f})
ends = [socket.socket() for _ in range({PORTS})]
for end in ends: end.listen(128)
print("listens", *(end.getsockname()[1] for end in ends), sep="\\t", flush=True)
signal.pause()'
    done
    perl -MIO::Socket::INET -e 1 && exec perl -MIO::Socket::INET -e '
alarm {2 * WAYS_S:.0f}; $| = 1;
@ends = map {{ IO::Socket::INET->new(Listen => 128) or die }} 1 .. {PORTS};
print join("\t", "listens", map {{ $_->sockport }} @ends), "\n"; sleep'
    echo listens
) </dev/null 2>/dev/null & listener=$!
"""
"""Says at which ports it listens; at none where nothing is there that can. A connection that is refused would not tell
a host that lets it in from a firewall."""
_LOOK = r"""
PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
fits() {
    heard=$(ping -c 2 -i 0.3 -W 1 -M do -s "$1" "$2" 2>&1) && return
    case $heard in *mtu*) [ "$1" -gt 56 ] ;; *) return 1 ;; esac
}
size() {
    address=$(getent ahostsv4 "$1" | awk 'NR == 1 { print $1 }')
    name=$(ip -o route get "${address:-$1}" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p')
    mtu=$(ip -o link show dev "$name" 2>/dev/null | sed -n 's/.* mtu \([0-9]*\) .*/\1/p')
    case ${address:-$1} in *:*) head=48 ;; *) head=28 ;; esac
    if [ "$name" = lo ]; then said=fits
    elif [ -z "$mtu" ] || ! fits 56 "${address:-$1}"; then said=unknown
    elif fits $((mtu - head)) "${address:-$1}"; then said=fits
    else said=narrow; fi
    printf '%s\t%s\t%s\t%s\n' "$said" "$1" "${mtu:-0}" "${name:--}"
}
set -f
while read -r ways; do
    looks=
    command -v bash >/dev/null || echo mute
    for way in $ways; do
        case $way in
        tcp/*) timeout 3 bash -c 'exec 3<>"/dev/$1"' bash "$way" 2>/dev/null && printf 'open\t%s\n' "$way" ;;
        *) size "$way" ;;
        esac &
        looks="$looks $!"
    done
    wait $looks
    echo looked
done
kill "$listener"
"""
"""For each line says which ends of TCP can be reached (a node without bash is mute), and whether packets as large as
the MTU of the interface get to an address in one piece; 28 or 48 bytes are headers.

Where ping is told of a smaller MTU on the way, TCP is, too, and sends smaller packets.
"""
_SAYS = frozenset({"listens", "open", "mute", "fits", "narrow", "unknown", "looked"})
_NIC = re.compile(r"[\w.:@-]{1,15}")


def ways_between(
    reach: Transport, hosts: Sequence[str], answering: Sequence[str], interfaces: Sequence[str]
) -> tuple[str, list[str], list[str]]:
    """Look at the ways between hosts: from this one to each and back, and from each that answers to its neighbours.

    Of more than AT_ONCE hosts neighbours stand further apart in the list. Connections are tried over IPv4 only.

    Args:
        interfaces: network interfaces that MPI may use; none means all.

    Returns:
        The sentence between which hosts no connection can be made, "" where none is known; between which large packets
        do not get through, though small ones, as of a start of ranks, do; and of which ways nothing is known.
    """
    networks, here = own_networks(), socket.gethostname()
    own = [str(ip_interface(address).ip) for name, address in networks.items() if name in interfaces or not interfaces]
    if networks and not own:
        has, lacks = ", ".join(networks), ", ".join(interfaces)
        return f"this host ({here}) has no {lacks} (there: {has}), which MPI is told to use", [], []
    addresses = networks_of(reach, answering, interfaces[:1])[0][0].addresses
    elsewhere = "" if set(own) & {*addresses.values()} else "start hpltune on a node, or "
    names = {
        "": f"this host ({here})",
        **{one: f"node {one}" for one in hosts},
        **{address: f"node {one} ({address})" for one, address in addresses.items()},
    }
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for part in range(parts := -(-max(len(addresses), 1) // AT_ONCE)):
        some = dict([*addresses.items()][part::parts])
        looks = [*_looks(reach, some, own, [addresses.get(one, one) for one in hosts[part::parts]])]
        rejected = Counter(there for _, there, *what in looks if what == ["shut"])
        for first, there, *what in looks:
            whence = "other nodes" if what == ["shut"] and rejected[there] > 1 else names[first]
            way = first if what == ["cut"] else f"{whence} to {names.get(there, 'a node')}"
            found.setdefault(tuple(what), {})[way] = None
    cut, shut, mute = ([*found.pop((what,), {})] for what in ("cut", "shut", "mute"))
    closed = (
        f"node{'s' if len(cut) > 1 else ''} {_some(cut)} cannot reach this host ({here}, {', '.join(own)}), to which "
        f"MPI's daemons there must connect: {elsewhere}let their connections in"
        if cut
        else f"nothing gets through to high ports from {_some(shut)}, where MPI's ranks must connect: let all ports "
        "from 1024 on through the firewall there, or take other interfaces"
    )
    narrow = [
        f"packets of {mtu} bytes, the MTU of {name}, do not get from {_some([*ways])}, and small ones do: a cable, "
        "switch port or NIC between them takes smaller ones: raise its MTU, or lower that of the hosts, as by "
        f"`ip link set dev {name} mtu 1500`"
        for (verdict, mtu, name), ways in found.items()
        if verdict == "narrow"
    ]
    doubts = {
        "connections": (mute, "it takes bash on the one, and python3 or perl on the other"),
        "large packets": (
            [way for what, ways in found.items() if what[0] == "unknown" for way in ways],
            "there is no ping, or no answer to it",
        ),
    }
    unknown = [
        f"Whether {what} get from {_some(ways)} is not known: {why}." for what, (ways, why) in doubts.items() if ways
    ]
    return closed if cut or shut else "", narrow, unknown


def _looks(
    reach: Transport, nodes: Mapping[str, str], own: Sequence[str], hosts: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Look at all ways at once, and yield those that are not as they should be: from which node, to which address, why.

    Why is "cut" (the node cannot connect to this host), "shut" (it cannot connect to the other node), "mute" (nobody
    knows), or "narrow" or "unknown" (of large packets) with the MTU and the interface.

    Args:
        nodes: each with its address; the first and the last are neighbours.
        own: addresses of this host, which is "" among what is told.
        hosts: addresses to which this host sends large packets.
    """
    after, before = ([*nodes][shift:] + [*nodes][:shift] for shift in (1, -1))
    beside = {node: dict.fromkeys(two) for node, *two in zip(nodes, after, before, strict=True)}
    with ExitStack() as stack:
        talks: dict[str, NodeTalk] = {}
        for node in ("", *nodes):
            talks[node] = NodeTalk(reach if node else Local(), node, ("sh", "-c", _LISTEN + _LOOK))
            stack.callback(talks[node].close)
        ports = {node: [*filter(str.isdecimal, lines[-1])][:PORTS] for node, lines in _heard(talks, "listens").items()}
        to_here = [f"tcp/{address}/{port}" for address in own for port in ports.get("", [])]
        ends = {to: [f"tcp/{address}/{port}" for port in ports.get(to, [])] for to, address in nodes.items()}
        for node, talk in talks.items():
            onward = [end for to in beside.get(node, ()) for end in ends[to]]
            talk.tell(" ".join([*onward, *to_here, nodes[next(iter(beside[node]))]] if node else hosts))
        said = _heard(talks, "looked")
        for talk in talks.values():
            talk.end_input()
    for node in nodes:
        lines = said.get(node, [["mute"]])
        for there, own_ends, least in (*((nodes[to], ends[to], PORTS) for to in beside[node]), ("", to_here, 1)):
            if sum(["open", end] in lines for end in own_ends) < least:
                yield node, there, "mute" if not own_ends or ["mute"] in lines else "shut" if there else "cut"
    for node, lines in said.items():
        for line in lines:
            match line:
                case ["narrow" | "unknown" as verdict, there, mtu, name] if (
                    len(mtu) < 7 and mtu.isdecimal() and _NIC.fullmatch(name)
                ):
                    yield node, there, verdict, mtu, name


def _heard(talks: Mapping[str, NodeTalk], last: str) -> dict[str, list[list[str]]]:
    """Return the parts of the lines of each node up to one that begins with a word; none where that does not come."""
    heard, until_s = dict[str, list[list[str]]](), time.monotonic() + WAYS_S
    for node, talk in talks.items():
        lines: list[list[str]] = []
        with suppress(UnreachableError):
            while not lines or lines[-1][0] != last:
                lines.append(talk.hear(_SAYS, until_s - time.monotonic()))
            heard[node] = lines
    return heard


def _some(named: Sequence[str]) -> str:
    return ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")
