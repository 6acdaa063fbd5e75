"""How the rates of nodes changed between two checks of a cluster, with a stated risk to blame a sound node.

The model. The logarithm of a node's rate changes by what all nodes have in common, by what is its own, and by noise.
The noise is taken from two sides, and the larger counts: how differently nodes changed (sound nodes change alike), and
how differently repeats of a node came out in each check.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import scipy

from .check import BENCHMARKS, NodeCheck
from .odd_nodes import FALSE_ALARMS, FEWEST, LEAST_PERCENT
from .run_noise import RunNoise
from .shape import MEDIAN_SCATTERS, robust_sd

NETWORK = "network"
FEWEST_PAIRS = 3
"""Pairs of a node that are needed to say how its messages changed."""
Logs = Mapping[str, float]
"""By node the logarithm by which a rate is higher than it was."""


@dataclass(frozen=True)
class RateChange:
    """How one benchmark changed.

    Attributes:
        title: in words.
        part: of the machine that it loads, as that of a benchmark, or NETWORK.
        nodes: that both checks measured.
        percent: change of the rate that the nodes have in common; below 0 it is lost.
        common: that is more than noise.
        lost: by node its whole change in percent, of those that lost more than the others; the worst first.
    """

    name: str
    title: str
    part: str
    nodes: int
    percent: float
    common: bool
    lost: Mapping[str, float]


@dataclass(frozen=True)
class _Scatter:
    """The noise of a change: a standard deviation of logarithms, and the degrees of freedom behind it."""

    sd: float
    freedom: float


def rate_changes(before: NodeCheck, now: NodeCheck) -> list[RateChange]:
    """Compare all benchmarks that both checks ran, simple ones first.

    A change counts if noise makes such a one in no benchmark of no node with a probability of 1 - FALSE_ALARMS, and if
    it is LEAST_PERCENT at least.
    """
    logs = {**_benchmarks(before, now), **_messages(before, now)}
    tests = sum(len(own) + 1 for own in logs.values())
    found = []
    for name, own in logs.items():
        scatter = _scatter(list(own.values()), [RunNoise.of(name, check) for check in (before, now)])
        if scatter is not None:
            found.append(_judged(name, own, scatter, tests))
    return found


def _benchmarks(before: NodeCheck, now: NodeCheck) -> dict[str, Logs]:
    """Compare the best result of each node in each benchmark."""
    found: dict[str, Logs] = {}
    then = before.results()
    for name, values in now.results().items():
        sign = 1.0 if BENCHMARKS[name].higher_is_better else -1.0
        was = then.get(name, {})
        both = [node for node, value in values.items() if value > 0.0 and was.get(node, 0.0) > 0.0]
        if both:
            found[name] = {node: sign * math.log(values[node] / was[node]) for node in both}
    return found


def _messages(before: NodeCheck, now: NodeCheck) -> dict[str, Logs]:
    """Compare the same pairs over each network: the median of those of each node."""
    then = {(pair.network, pair.pattern, pair.one, pair.other): pair.rate for pair in before.pairs if pair.counts}
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pair in now.pairs:
        rate = then.get((pair.network, pair.pattern, pair.one, pair.other), 0.0)
        if pair.counts and pair.rate > 0.0 and rate > 0.0:
            for node in (pair.one, pair.other):
                logs[f"{NETWORK} {pair.network}".strip()][node].append(math.log(pair.rate / rate))
    medians = {
        name: {node: median(values) for node, values in own.items() if len(values) >= FEWEST_PAIRS}
        for name, own in logs.items()
    }
    return {name: own for name, own in medians.items() if own}


def _scatter(changes: Sequence[float], repeats: Sequence[RunNoise]) -> _Scatter | None:
    """Return the larger noise of both; None where too few nodes and no repeats tell nothing.

    Few nodes do not show how much a node changes from one check to another beyond its repeats. Then the noise of single
    runs is taken, though the best of several scatters less.
    """
    known = []
    of_best = math.sqrt(2.0)
    if len(changes) >= FEWEST:
        of_best = math.hypot(*(own.of_best for own in repeats))
        known.append(_Scatter(robust_sd(changes), max(2.0, 0.8 * (len(changes) - 1))))
    both = RunNoise(tuple(distance for own in repeats for distance in own.distances), 1)
    if both.sd is not None:
        known.append(_Scatter(of_best * both.sd, both.freedom))
    return max(known, key=lambda one: one.sd, default=None)


def _judged(name: str, changes: Logs, scatter: _Scatter, tests: int) -> RateChange:
    limit = scatter.sd * float(scipy.stats.t.isf(FALSE_ALARMS / (2 * tests), scatter.freedom))
    common = median(changes.values()) if len(changes) >= FEWEST else 0.0
    percent = _percent(common)
    clear = abs(common) >= MEDIAN_SCATTERS * limit / math.sqrt(len(changes)) and abs(percent) >= LEAST_PERCENT
    lost = {
        node: _percent(change)
        for node, change in sorted(changes.items(), key=lambda one: one[1])
        if common - change >= limit and -_percent(change - common) >= LEAST_PERCENT
    }
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        network = name.removeprefix(NETWORK).strip()
        title = f"messages over {network}" if network else "messages"
        return RateChange(name, title, NETWORK, len(changes), percent, clear, lost)
    return RateChange(name, benchmark.title, benchmark.part, len(changes), percent, clear, lost)


def _percent(log: float) -> float:
    return 100.0 * math.expm1(log)
