"""Messages between nodes over each network, one pair at a time and all at once (hpl/native/node_pairs.c)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.stats.nodes.pair_patterns import PATTERNS, Pair
from results.stats.nodes.pair_rate import PairRate
from runners.readiness.networks import NodeNetwork, networks_of

from ..events import WorkEnded, WorkStarted
from ..words import counted
from .pair_programs import PROGRAM, PairPrograms
from .step import NodeValues, StepPlace, StepResult


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
        found = networks_of(target.reach, nodes, target.interfaces)
        alone: list[PairRate] = []
        at_once: list[PairRate] = []
        with PairPrograms(target.reach, {node: place.folders[node] for node in nodes}) as programs:
            for network in found.networks:
                own = self._alone(place, programs, network)
                alone += own
                if any(pair.counts for pair in own):
                    at_once += self._at_once(place, programs, network)
            return StepResult(pairs=tuple(alone), pairs_at_once=tuple(at_once), lost=programs.lost, notes=found.notes)

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
    latency_us, there, back = map(float, parts[1:])
    return PairRate(pattern, one, other, _both(there, back), network, latency_us, there, back)


def _at_once_rate(pattern: str, one: str, other: str, network: str, ways: Sequence[Sequence[str]]) -> PairRate:
    failed = [parts[-1] for parts in ways if parts[0] == "failed"]
    if failed:
        return PairRate(pattern, one, other, 0.0, network, problem=failed[0])
    there, back = (float(parts[1]) for parts in ways)
    return PairRate(pattern, one, other, _both(there, back), network, None, there, back)


def _both(there: float, back: float) -> float:
    """The rate of a ping-pong: as long there as back."""
    return 2.0 / (1.0 / there + 1.0 / back)
