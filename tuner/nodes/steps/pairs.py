"""Messages between nodes over each network, one pair at a time and all at once (hpl/native/node_pairs.c)."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from results.node_check import PATTERNS, Pair, PairRate, pairs_of
from runners.errors import UnreachableError
from runners.hosts.transport import SHOWN, Transport
from runners.readiness.networks import NodeNetwork, NodeTalk, networks_of

from ...events import WorkEnded, WorkStarted
from ...words import counted
from .step import ONE_THREAD, NodeValues, StepPlace, StepResult, positive

PROGRAM = "node_pairs"
SEED = 1
"""Of the shuffled pairs: the same nodes have the same pairs in each check."""
LIMIT_S = 4 * 3600.0
"""Seconds after which the program on a node ends whatever happens."""
READY_S, ANSWER_S = 60.0, 40.0
"""Seconds that a node has to start the program, and to measure a pair."""
MOST = 1e15
"""Of bytes in a second, and of microseconds."""
_START = f'cd "$1" && shift && exec env {" ".join(ONE_THREAD)} ./{PROGRAM} "$@"'


class PairPrograms:
    """One program on each node while a block runs; it listens for the others and takes our orders.

    Attributes:
        lost: by node why it is asked nothing more.
    """

    def __init__(self, reach: Transport, folders: Mapping[str, str]) -> None:
        self.lost: dict[str, str] = {}
        self._reach = reach
        self._folders = folders
        self._talks: dict[str, NodeTalk] = {}
        self._ports: dict[str, str] = {}

    def __enter__(self) -> Self:
        token = secrets.token_hex(8)
        try:
            for node, folder in self._folders.items():
                self._start(node, ("sh", "-c", _START, "sh", folder, token, f"{LIMIT_S:.0f}"))
            for node in self._folders:
                match self._heard(node, {"ready"}, READY_S):
                    case [_, port] if port.isdecimal():
                        self._ports[node] = port
                    case [*parts]:
                        self.lost[node] = f"node {node}: it tells {' '.join(parts)[:SHOWN]!r}, which names no port"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for talk in self._talks.values():
            talk.close()

    def pairs(self, pattern: str, network: NodeNetwork) -> list[Pair]:
        """Pair the nodes that are on a network and answer."""
        alive = [node for node in self._folders if node in network.addresses and node not in self.lost]
        return pairs_of(pattern, alive, SEED)

    def ordered(self, order: str, pairs: Sequence[Pair], network: NodeNetwork, seconds: float) -> dict[Pair, list[str]]:
        """Give the first node of each pair an order at the same time, and return the answers; a lost node has none."""
        at = network.addresses
        told = [pair for pair in pairs if not set(pair) & self.lost.keys()]
        for one, other in told:
            self._talks[one].tell(f"{order} {at[other]} {self._ports[other]} {at[one]} {seconds:g}")
        heard = {(one, other): self._heard(one, {order, "failed"}, ANSWER_S + seconds) for one, other in told}
        return {pair: parts for pair, parts in heard.items() if parts is not None}

    def _start(self, node: str, command: Sequence[str]) -> None:
        try:
            self._talks[node] = NodeTalk(self._reach, node, command)
        except UnreachableError as error:
            self.lost[node] = str(error)

    def _heard(self, node: str, kinds: Collection[str], timeout_s: float) -> list[str] | None:
        """Wait for an answer; None if the node is lost."""
        if node in self.lost:
            return None
        try:
            return self._talks[node].hear(kinds, timeout_s)
        except UnreachableError as error:
            self.lost[node] = str(error)
            return None


@dataclass(frozen=True)
class Pairs:
    """Sends messages between pairs of nodes in the four patterns.

    Attributes:
        program: the program that sends messages.
        alone_s: seconds that a pair sends in each direction while all others are quiet.
        at_once_s: the same while all pairs of a pattern send.
    """

    program: Path
    alone_s: float = 0.25
    at_once_s: float = 1.0

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program."""
        del facts
        return {PROGRAM: self.program}

    def measure(self, place: StepPlace) -> StepResult:
        """Measure all networks of the nodes, one after another; one node alone has no partner."""
        target = place.target
        nodes = [node for node in target.nodes if node in place.folders]
        if len(nodes) < 2:
            return StepResult()
        networks, notes = networks_of(target.reach, nodes, target.interfaces)
        alone: list[PairRate] = []
        at_once: list[PairRate] = []
        with PairPrograms(target.reach, {node: place.folders[node] for node in nodes}) as programs:
            for network in networks:
                own = self._alone(place, programs, network)
                alone += own
                if any(pair.counts for pair in own):
                    at_once += self._at_once(place, programs, network)
            return StepResult(pairs=tuple(alone), pairs_at_once=tuple(at_once), lost=programs.lost, notes=tuple(notes))

    def _alone(self, place: StepPlace, programs: PairPrograms, network: NodeNetwork) -> list[PairRate]:
        """Measure pair by pair; where no pair of a pattern works, the next patterns are left out."""
        done: list[PairRate] = []
        for pattern in PATTERNS:
            pairs = programs.pairs(pattern, network)
            if place.stop.requested or (done and not any(pair.counts for pair in done)):
                break
            place.listener(WorkStarted(_work(network, pattern, pairs, "one at a time")))
            for pair in pairs:
                if place.stop.requested:
                    break
                for (one, other), parts in programs.ordered("pair", [pair], network, self.alone_s).items():
                    done.append(_alone_rate(pattern, one, other, network.name, parts))
            place.listener(WorkEnded())
        return done

    def _at_once(self, place: StepPlace, programs: PairPrograms, network: NodeNetwork) -> list[PairRate]:
        """Let all pairs of a pattern send at once in one direction, then in the other."""
        done: list[PairRate] = []
        for pattern in PATTERNS:
            pairs = programs.pairs(pattern, network)
            if place.stop.requested:
                break
            place.listener(WorkStarted(_work(network, pattern, pairs, "all at once")))
            there = programs.ordered("stream", pairs, network, self.at_once_s)
            back = programs.ordered("stream", [(other, one) for one, other in pairs], network, self.at_once_s)
            place.listener(WorkEnded())
            for one, other in pairs:
                if (one, other) in there and (other, one) in back:
                    ways = (there[one, other], back[other, one])
                    done.append(_at_once_rate(pattern, one, other, network.name, ways))
        return done


def _work(network: NodeNetwork, pattern: str, pairs: Sequence[Pair], how: str) -> str:
    return f"Messages over {network.name}: {pattern}, {counted(len(pairs), 'pair')}, {how}"


def _alone_rate(pattern: str, one: str, other: str, network: str, parts: Sequence[str]) -> PairRate:
    """Read "pair", latency, rate there, rate back; or "failed" and a reason."""
    if parts[0] == "failed":
        return PairRate(pattern, one, other, 0.0, network, problem=parts[-1])
    match [positive(text, MOST) for text in parts[1:]]:
        case [float(latency_us), float(there), float(back)]:
            return PairRate(pattern, one, other, _both(there, back), network, latency_us, there, back)
    return PairRate(pattern, one, other, 0.0, network, problem=_odd(one, parts))


def _at_once_rate(pattern: str, one: str, other: str, network: str, ways: Sequence[Sequence[str]]) -> PairRate:
    failed = [parts[-1] for parts in ways if parts[0] == "failed"]
    if failed:
        return PairRate(pattern, one, other, 0.0, network, problem=failed[0])
    rates = [positive(parts[1], MOST) if len(parts) > 1 else None for parts in ways]
    match rates:
        case [float(there), float(back)]:
            return PairRate(pattern, one, other, _both(there, back), network, None, there, back)
    node, parts = next(
        told for told, rate in zip(zip((one, other), ways, strict=True), rates, strict=True) if rate is None
    )
    return PairRate(pattern, one, other, 0.0, network, problem=_odd(node, parts))


def _odd(node: str, parts: Sequence[str]) -> str:
    """Say what a node told in place of figures."""
    return f"node {node} tells {' '.join(parts)[:SHOWN]!r}, which are no rates"


def _both(there: float, back: float) -> float:
    """The rate of a ping-pong: as long there as back."""
    return 2.0 / (1.0 / there + 1.0 / back)
