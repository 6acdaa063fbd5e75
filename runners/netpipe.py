"""Measures latency and bandwidth between two nodes with NetPIPE, in a limited time."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from .errors import RefusedError
from .hosts.transport import Transport
from .settings.journal import tokens_of
from .settings.script import Told, converse, failure
from .settings.setting import Command
from .settings.survey import Node

LARGEST_BYTES = 8 * 2**20
LIMIT_S = 180.0
"""Seconds that one measurement may take."""
FIRST_PORT = 23_571
PROGRAMS = {"tcp": ("NPtcp", "netpipe-tcp"), "openmpi": ("NPopenmpi", "netpipe-openmpi")}
"""NetPIPE's program and its package in Debian, for each way to send messages."""

LARGE_BYTES = 2**20
"""From this size on a message's rate is that of the link, not of a buffer on the way."""

_RANGES = ((1, 1024, 100), (2048, 49_152, 10), (65_536, 2**63, 1))
"""Smallest and largest message, and round trips for each size; NetPIPE does several series of them and takes the best.

With its defaults NetPIPE takes 38 s of full CPU; with these, about 4 s on Gigabit Ethernet and 20 s on Fast Ethernet.
It warms up with a hundred messages of the first size of a range, so that size must be small.
"""
_LINE = re.compile(r"^\s*\d+:\s+(\d+) bytes\s+\d+ times -->\s+\S+ Mbps in\s+(\S+) usec", re.MULTILINE)
_RECEIVE = (
    'limit=$1; shift; timeout "$limit" sh -c '
    "'while [ $# -ge 4 ]; do NPtcp -P $1 -p 0 -n $2 -l $3 -u $4 -o /dev/null; shift 4; done' "
    'receive "$@" </dev/null >/dev/null 2>&1 & cat >/dev/null; kill $! 2>/dev/null'
)
"""This script ends when its input ends, so nothing is left on a node after an interrupted measurement."""
_SEND = (
    'tries=50; until said=$(timeout "$6" NPtcp -h "$1" -P "$2" -p 0 -n "$3" -l "$4" -u "$5" -o /dev/null 2>&1); do '
    'code=$?; tries=$((tries - 1)); case $said in *"Cannot Connect"*) ;; *) tries=0;; esac; '
    '[ $tries -gt 0 ] || { echo "$said"; exit $code; }; sleep 0.1; done; echo "$said"'
)


@dataclass(frozen=True)
class LinkMeasurement:
    """The figures that NetPIPE measured.

    Attributes:
        points: pairs of a message's bytes and its one-way time in microseconds, smallest first.
    """

    points: tuple[tuple[int, float], ...]

    @property
    def latency_us(self) -> float:
        """Half a round trip of the smallest message, in microseconds."""
        return self.points[0][1]

    @property
    def bandwidth_mbit_s(self) -> float:
        """The best rate of a message of at least 1 MiB, else of the largest message, in 10^6 bit/s."""
        large = [point for point in self.points if point[0] >= LARGE_BYTES] or [self.points[-1]]
        return max(8 * size / time_us for size, time_us in large)


def measure(
    reach: Transport,
    sender: Node,
    receiver: Node,
    interfaces: Sequence[str],
    through: str,
    largest_bytes: int = LARGEST_BYTES,
) -> LinkMeasurement:
    """Send messages from 1 byte up to the largest size back and forth.

    Args:
        interfaces: the network interfaces to use; NPtcp takes one.
        through: "tcp" or "openmpi".

    Raises:
        RefusedError: NetPIPE is missing, or the nodes have no connection over these interfaces.
        RunnerError: a node does not answer.
    """
    _require(reach, (sender, receiver), through)
    ranges = [(low, min(high, largest_bytes), count) for low, high, count in _RANGES if low <= largest_bytes]
    told = (_tcp if through == "tcp" else _openmpi)(reach, sender, receiver, interfaces, ranges)
    points: list[tuple[int, float]] = []
    for one in told:
        if not one.taken or not _LINE.search(one.printed):
            raise RefusedError(
                f"NetPIPE could not measure between {sender.host} and {receiver.host} over {','.join(interfaces)}: "
                f"{_cause(one)}"
            )
        points += points_in(one.printed)
    return LinkMeasurement(tuple(points))


def points_in(printed: str) -> list[tuple[int, float]]:
    """Parse the sizes in bytes and times in microseconds from NetPIPE's output."""
    return [(int(size), float(time_us)) for size, time_us in _LINE.findall(printed) if float(time_us) > 0]


def _require(reach: Transport, nodes: Sequence[Node], through: str) -> None:
    program, package = PROGRAMS[through]
    for node in nodes:
        (found,) = converse(reach, node.host, [("sh", "-c", 'command -v "$1"', "find", program)])
        if not found.taken:
            raise RefusedError(f"node {node.host}: {program} is missing; Debian's package {package} has it")


def _tcp(
    reach: Transport, sender: Node, receiver: Node, interfaces: Sequence[str], ranges: Sequence[tuple[int, int, int]]
) -> list[Told]:
    if len(interfaces) != 1:
        raise RefusedError(f"{','.join(interfaces)}: NPtcp uses one interface; several need ⟦through⟧ openmpi")
    found = receiver.interface(interfaces[0])
    if found is None or not found.address:
        raise RefusedError(f"node {receiver.host}: {interfaces[0]} has no IPv4 address, so nothing can be sent there")
    rounds = [(FIRST_PORT + at, count, low, high) for at, (low, high, count) in enumerate(ranges)]
    sends: list[Command] = [
        ("sh", "-c", _SEND, "send", found.address, *(str(part) for part in each), f"{LIMIT_S:.0f}") for each in rounds
    ]
    with _receiving(reach, receiver.host, [str(part) for each in rounds for part in each]):
        return converse(reach, sender.host, sends, timeout_s=LIMIT_S)


@contextmanager
def _receiving(reach: Transport, host: str, arguments: Sequence[str]) -> Iterator[None]:
    """Run a receiver on a node for the duration of the block."""
    argv = reach.argv(host, ("sh", "-c", _RECEIVE, "receive", f"{LIMIT_S:.0f}", *arguments))
    receiver = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        receiver.communicate()


def _openmpi(
    reach: Transport, sender: Node, receiver: Node, interfaces: Sequence[str], ranges: Sequence[tuple[int, int, int]]
) -> list[Told]:
    agent = shlex.join(tokens_of(reach) or ("ssh",))
    base: Command = (
        *("mpirun", *(("--allow-run-as-root",) if sender.root else ()), "--bind-to", "none", "-np", "2"),
        *("-H", f"{sender.host},{receiver.host}", "--mca", "plm_rsh_agent", agent),
        *("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", ",".join(interfaces), "NPopenmpi"),
    )
    sizes = [("-p", "0", "-n", str(count), "-l", str(low), "-u", str(high)) for low, high, count in ranges]
    runs: list[Command] = [("timeout", f"{LIMIT_S:.0f}", *base, *size, "-o", os.devnull) for size in sizes]
    return converse(reach, sender.host, runs, timeout_s=LIMIT_S)


def _cause(told: Told) -> str:
    if told.exit_code == 124:
        return f"it took longer than {LIMIT_S:.0f} s"
    return failure(told)
