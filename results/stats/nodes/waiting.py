"""What the slowest nodes cost HPL, whether they are odd or not: arithmetic, and no test.

HPL gives all nodes the same work, and each step waits for the slowest of them. So n nodes do n times what the slowest
one does, before what the network takes; without it the others do n - 1 times what the next one does.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median

import scipy

from .check import BENCHMARKS, NodeCheck
from .finding import ranges
from .odd_nodes import FALSE_ALARMS, LEAST_PERCENT
from .rate_changes import RunNoise

RATES = ("hpl", "dgemm-all")
"""Benchmarks that tell how fast a node is in HPL, the best one first."""
FEWEST_WAITING = 3
"""Nodes that have a slowest one beside a usual one."""
NOTABLE_PERCENT = 5.0
"""A node so far below the median is named, and HPL on all nodes loses as much: about what tuning gains."""
MOST_NAMED = 8


@dataclass(frozen=True)
class WaitedNode:
    """A node that is slower than the median.

    Attributes:
        gflops: of its best run.
        percent: how far it is below the median.
        runs: how many it made; the best is so far below the median, and the others are farther.
        noise: whether runs of one node differ by as much; None where no node ran twice.
        others_gflops: what all faster nodes do together without it.
    """

    node: str
    gflops: float
    percent: float
    runs: int
    noise: bool | None
    others_gflops: float


@dataclass(frozen=True)
class WaitingCost:
    """What HPL on all nodes of a class loses, because it waits for the slowest.

    Attributes:
        benchmark: that tells how fast a node is.
        node_class: "" where there is one class.
        median: GFLOPS of a usual node.
        gflops: what all nodes do together.
        slower: nodes that are LEAST_PERCENT below the median, slowest first; none where nobody is waited for.
        left_out: the slowest nodes without which the others do most; none where all nodes do.
        left_gflops: what the others do then.
    """

    benchmark: str
    node_class: str
    nodes: int
    median: float
    gflops: float
    slower: tuple[WaitedNode, ...]
    left_out: tuple[str, ...]
    left_gflops: float

    @property
    def percent(self) -> float:
        """Return how far the slowest node is below the median: as much HPL loses."""
        return self.slower[0].percent if self.slower else 0.0

    @property
    def notable(self) -> tuple[str, ...]:
        """Return the nodes that cost so much that they are named, slowest first."""
        return tuple(one.node for one in self.slower if one.percent >= NOTABLE_PERCENT)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say for whom HPL waits, what that costs, and what leaving nodes out would give."""
        if not self.slower:
            return ()
        first, title = self.slower[0], BENCHMARKS[self.benchmark].title
        others = self.notable[1:]
        among = f"Of the nodes with {self.node_class}, " if self.node_class else ""
        said = f"{among}HPL waits for {first.node}, {first.percent:.1f} % below the median of {title}{_noise(first)}."
        at_median = _figure(self.nodes * self.median)
        together = f"{_figure(self.gflops)} GFLOPS, at the median's {at_median}"
        cost = f"At its speed {self.nodes} nodes do {together}, before what the network takes"
        gain = 100.0 * (self.left_gflops / self.gflops - 1.0)
        left = f"the other {self.nodes - len(self.left_out)} do {_figure(self.left_gflops)} ({gain:.1f} % more)"
        out = f"without {_named(self.left_out)} {left}" if self.left_out else "leaving slow nodes out gives no more"
        verb = "is" if len(others) == 1 else "are"
        more = (f"{_named(others)} {verb} {NOTABLE_PERCENT:g} % or more below it, too.",) if others else ()
        return (said, f"{cost}; {out}.", *more)


def _figure(gflops: float) -> str:
    return f"{gflops:,.0f}" if gflops >= 1000.0 else f"{gflops:.4g}"


def _named(nodes: Collection[str]) -> str:
    first, more = list(nodes)[:MOST_NAMED], len(nodes) - MOST_NAMED
    return f"{', '.join(first)} and {more} more" if more > 0 else ranges(first)


def _noise(first: WaitedNode) -> str:
    if first.noise is None:
        return "; no node ran twice, so it may be noise"
    if first.noise:
        return "; runs of one node differ as much, so it may be noise"
    return f" in the best of its {first.runs} runs, so it is no noise" if first.runs > 1 else ""


def waiting(check: NodeCheck, results: Mapping[str, Mapping[str, float]], node_class: str) -> WaitingCost | None:
    """Work out what the slowest nodes of a class cost; None where too little was measured.

    Args:
        results: of each benchmark the best result of each node that computes rightly.
    """
    name = next((name for name in RATES if results.get(name)), "")
    measured = results.get(name, {})
    members = {node for node in measured if check.classes.get(node, "") == node_class}
    rates = {node: rate for node, rate in measured.items() if node in members and rate > 0.0}
    if len(rates) < FEWEST_WAITING:
        return None
    order = sorted(rates, key=lambda node: (rates[node], node))
    together = [(len(order) - place) * rates[node] for place, node in enumerate(order)]
    middle, runs = median(rates.values()), Counter(run.node for run in check.runs if run.benchmark == name)
    scatter = _most_by_noise(name, check, len(order))
    slower = tuple(
        WaitedNode(
            node,
            rates[node],
            100.0 * (1.0 - rates[node] / middle),
            runs[node],
            None if scatter is None else math.log(middle / rates[node]) <= scatter,
            together[place + 1],
        )
        for place, node in enumerate(order)
        if 100.0 * (1.0 - rates[node] / middle) >= LEAST_PERCENT
    )
    best = max(range(len(order)), key=together.__getitem__)
    several = len(set(check.classes.values())) > 1
    return WaitingCost(
        benchmark=name,
        node_class=node_class if several else "",
        nodes=len(order),
        median=middle,
        gflops=together[0],
        slower=slower,
        left_out=tuple(order[:best]),
        left_gflops=together[best],
    )


def _most_by_noise(name: str, check: NodeCheck, nodes: int) -> float | None:
    """Return the logarithm by which the best run of no node is low by noise alone, with the risk FALSE_ALARMS.

    None where no node ran twice.
    """
    noise = RunNoise.of(name, check)
    if noise.sd is None:
        return None
    return noise.sd * noise.of_best * float(scipy.stats.t.isf(FALSE_ALARMS / nodes, noise.freedom))
