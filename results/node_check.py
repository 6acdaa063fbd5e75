"""A check of the nodes of a cluster as data: facts, results of benchmarks, rates, runs of groups, and findings."""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from .disturbance import Conditions, Disturbance, counting, judge


@dataclass(frozen=True)
class PairRate:
    """The rate of one pair in one pattern.

    Attributes:
        rate: of large messages back and forth, in any unit, the same for all; above 0 if it counts.
        network: the name of the interface through which they went; "" where there is one.
        latency_us: half a round trip of a small message; None where nobody asked.
        there, back: rate from the one to the other, and from the other to the one; None where nobody asked.
        problem: why there is no rate; "" if there is.
    """

    pattern: str
    one: str
    other: str
    rate: float
    network: str = ""
    latency_us: float | None = None
    there: float | None = None
    back: float | None = None
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Return whether messages passed, and arrived as they were sent."""
        return not self.problem


Pair = tuple[str, str]
PATTERNS = ("sorted", "cut", "fold", "shuffle")


def pairs_of(pattern: str, nodes: Sequence[str], seed: int = 0) -> list[Pair]:
    """Pair all nodes, each once; of an odd number one is left over.

    Args:
        pattern: "sorted" pairs neighbours; "cut" the first half with the second, in order; "fold" the first with the
            last, the second with the last but one; "shuffle" draws pairs.
        nodes: in the order of their place in the racks.
        seed: of what is drawn.

    Raises:
        ValueError: there is no such pattern.
    """
    half = len(nodes) // 2
    match pattern:
        case "sorted":
            return list(zip(nodes[: 2 * half : 2], nodes[1 : 2 * half : 2], strict=True))
        case "cut":
            return list(zip(nodes[:half], nodes[half : 2 * half], strict=True))
        case "fold":
            return list(zip(nodes[:half], list(reversed(nodes))[:half], strict=True))
        case "shuffle":
            drawn = list(nodes)
            random.Random(seed).shuffle(drawn)  # noqa: S311 - no secret
            return list(zip(drawn[: 2 * half : 2], drawn[1 : 2 * half : 2], strict=True))
    raise ValueError(f"there is no pattern {pattern}: {', '.join(PATTERNS)}")


ORDERS = ("sorted", "shuffle")


@dataclass(frozen=True)
class GroupRun:
    """One run of HPL over MPI on a group of nodes, while all other groups of its turn run, too.

    Attributes:
        order: "sorted" groups are neighbours, "shuffle" groups are drawn anew in each turn.
        turn: from 1.
        gflops: None where the run gave none.
        accurate: HPL's residual passed.
        reason: why it does not count; "" if it does.
    """

    order: str
    turn: int
    nodes: tuple[str, ...]
    gflops: float | None
    accurate: bool = True
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Return whether the run gave a right result."""
        return self.gflops is not None and self.accurate

    @property
    def why(self) -> str:
        """Return why it does not count, also where nobody told."""
        return self.reason or "its residual is too large"


TURNS = 1000
"""More than there are turns: so many numbers of a random order belong to each seed."""


def groups_of(order: str, nodes: Sequence[str], size: int, turn: int = 1, seed: int = 0) -> list[tuple[str, ...]]:
    """Group nodes, each once; those that are left over make no group.

    Args:
        nodes: in the order of their place in the racks.
        turn: from 1. Shuffled groups are drawn anew in each; sorted ones leave over the last nodes, and in even turns
            the first ones.
        seed: of shuffled groups.
    """
    ordered = list(nodes)
    if order == "shuffle":
        random.Random(TURNS * seed + turn).shuffle(ordered)  # noqa: S311 - no secret
    skipped = len(ordered) % size if order == "sorted" and turn % 2 == 0 else 0
    ordered = ordered[skipped:]
    return [tuple(ordered[first : first + size]) for first in range(0, len(ordered) - size + 1, size)]


@dataclass(frozen=True)
class NodeBenchmark:
    """A benchmark that runs on each node by itself.

    Attributes:
        name: "stream-triad-1", "dgemm", "hpl", …
        title: in words.
        part: of the machine that it loads: "memory", "processor" or "all".
    """

    name: str
    title: str
    unit: str
    part: str
    higher_is_better: bool = True


BENCHMARKS: Mapping[str, NodeBenchmark] = {
    one.name: one
    for one in (
        *(
            NodeBenchmark(f"stream-{kernel}-{cores}", f"STREAM {kernel}, {words}", "MB/s", "memory")
            for cores, words in (("1", "one core"), ("all", "all cores"))
            for kernel in ("copy", "scale", "add", "triad")
        ),
        NodeBenchmark("dgemm-1", "DGEMM, one core", "GFLOPS", "processor"),
        NodeBenchmark("dgemm-all", "DGEMM, all cores", "GFLOPS", "processor"),
        NodeBenchmark("fft-1", "FFT, one core", "GFLOPS", "memory"),
        NodeBenchmark("random-access-1", "RandomAccess, one core", "GUP/s", "memory"),
        NodeBenchmark("hpl", "HPL on the node", "GFLOPS", "all"),
    )
}
"""In the order of growing complexity: what comes first explains what comes later.

FFT and RandomAccess run no more; kept checks have them."""


@dataclass(frozen=True)
class NodeRun:
    """One run of a benchmark on one node.

    Attributes:
        value: in the unit of the benchmark; None where the run gave none.
        accurate: its result was checked, and is right.
        reason: why it does not count; "" if it does.
        measurements: what its node did meanwhile, by names with units, as those of a run of HPL in a study. Names that
            end with ":" and a number are of one of several processors. What is absent was not measured.
    """

    benchmark: str
    node: str
    value: float | None
    accurate: bool = True
    reason: str = ""
    measurements: Mapping[str, float] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Return whether the run gave a right result."""
        return self.value is not None and self.accurate

    @property
    def conditions(self) -> Conditions:
        """Return whether something else took its node from the run."""
        return self._judged[0]

    @property
    def disturbed(self) -> Disturbance | None:
        """Return what disturbed the run; None unless it is known to be disturbed.

        Heat is none: that a processor slows itself down is a fault of its node.
        """
        return self._judged[1]

    @cached_property
    def _judged(self) -> tuple[Conditions, Disturbance | None]:
        return judge({name: value for name, value in self.measurements.items() if name != "throttle_events"})


@dataclass(frozen=True)
class NodeCheck:
    """All that a check found out.

    Attributes:
        nodes: in the order of the cluster's file; those that did not answer are in `silent`.
        silent: why a node did not answer, or was lost in the middle.
        classes: the class of each node: nodes of one class should be alike.
        facts: the value of each fact by node.
        runs: all runs of all benchmarks.
        pairs: rates between two nodes, one pair at a time; `pairs_at_once` while all pairs of a pattern send.
        switches: the switch of each node, where the cluster's file tells.
        groups: runs of HPL on groups of nodes.
    """

    cluster: str
    checked_at: datetime
    nodes: tuple[str, ...]
    silent: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    runs: tuple[NodeRun, ...] = ()
    pairs: tuple[PairRate, ...] = ()
    pairs_at_once: tuple[PairRate, ...] = ()
    switches: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[GroupRun, ...] = ()

    def results(self) -> dict[str, dict[str, float]]:
        """Return for each benchmark that ran the best result of each node that counts, simple benchmarks first."""
        found: dict[str, dict[str, float]] = {run.benchmark: {} for run in self.runs}
        for run in self.deciding():
            if run.value is not None:
                better = max if BENCHMARKS[run.benchmark].higher_is_better else min
                own = found[run.benchmark]
                own[run.node] = better(own.get(run.node, run.value), run.value)
        return {name: found[name] for name in BENCHMARKS if name in found}

    def deciding(self) -> list[NodeRun]:
        """Return the runs that decide: right ones, and of each node in each benchmark only undisturbed ones, if any."""
        return counting((run for run in self.runs if run.counts), lambda run: (run.benchmark, run.node))

    def always_disturbed(self) -> dict[str, dict[str, Disturbance]]:
        """Return for each benchmark the nodes all of whose right runs were disturbed, with what disturbed the best."""
        found: dict[str, dict[str, Disturbance]] = {}
        deciding = [(run, disturbed) for run in self.deciding() if (disturbed := run.disturbed) is not None]
        best = self.results() if deciding else {}
        for run, disturbed in deciding:
            if run.value == best[run.benchmark][run.node]:
                found.setdefault(run.benchmark, {})[run.node] = disturbed
        return found


_NUMBERED = re.compile(r"(.*?)(\d+)")


def ranges(names: Iterable[str]) -> str:
    """Write names shortly: three or more whose numbers follow each other become one range."""
    runs: list[list[str]] = []
    for name in sorted(names, key=_in_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(_written(run) for run in runs)


def _follows(before: str, name: str) -> bool:
    one, other = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if one is None or other is None or one[1] != other[1]:
        return False
    padded = one[2].startswith("0") or other[2].startswith("0")
    return int(other[2]) == int(one[2]) + 1 and not (padded and len(one[2]) != len(other[2]))


def _in_order(name: str) -> tuple[str, int, str]:
    """Return what names are sorted by: n9 stands before n10."""
    numbered = _NUMBERED.fullmatch(name)
    return (numbered[1], int(numbered[2]), name) if numbered else (name, -1, name)


def _written(run: Sequence[str]) -> str:
    first, last = _NUMBERED.fullmatch(run[0]), _NUMBERED.fullmatch(run[-1])
    if len(run) < 3 or first is None or last is None:
        return ", ".join(run)
    return f"{first[1]}[{first[2]}-{last[2]}]"


class Severity(StrEnum):
    """What a finding means for the cluster."""

    OUT = "out"
    SLOW = "slow"
    ODD = "odd"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        what: "silent", "wrong-results", "slow-node", "two-groups", "weak-node", "weak-uplink", "weak-connection",
            "oversubscribed", "no-messages", "other-fact", "failed-groups", "contention", "disturbed-node", "throttled",
            "low-clock", "hot", "memory-channels", "memory-bandwidth", "gradient".
        names: the nodes, or the switch, or the connection.
        part: what of them: a benchmark, a fact, "network", "latency" or "groups".
        sentence: for people.
        percent: how much is lost, where something is slow.
        facts: settings that explain it.
    """

    severity: Severity
    what: str
    names: tuple[str, ...]
    part: str
    sentence: str
    percent: float = 0.0
    facts: tuple[str, ...] = ()
