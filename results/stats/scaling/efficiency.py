"""Efficiency of more nodes: the rate of each node against that at the smallest number of nodes."""

import math
from dataclasses import dataclass
from statistics import fmean

from .runs import NodeOrder, RunGroup, Scaling
from .student import scatter_of

Interval = tuple[float, float]


@dataclass(frozen=True)
class CountResult:
    """The runs on one number of nodes.

    Attributes:
        gflops: of each run.
        efficiency: GFLOPS of a node as a part of those at the smallest number; 1 there.
        interval: holds the true efficiency with a probability of 95 %; None if nothing ran twice, and at the smallest.
    """

    scaling: Scaling
    order: NodeOrder
    count: int
    N: int
    grid: str
    gflops: tuple[float, ...]
    efficiency: float
    interval: Interval | None = None

    @property
    def usual_gflops(self) -> float:
        """The geometric mean of the rates."""
        return math.exp(fmean(map(math.log, self.gflops)))


def efficiencies(group: RunGroup, *, exact: bool = False) -> list[CountResult]:
    """Compute the efficiency at each number of nodes.

    The efficiency is exp(m(n) - m(n0)), where m(n) is the mean of log(GFLOPS / n) of the runs on n nodes, and n0 the
    smallest number. Its interval is Student's, with the scatter of the runs of all numbers pooled.

    Args:
        exact: as in `scatter_of`.
    """
    logs = {count: [math.log(run.gflops / count) for run in runs] for count, runs in group.runs.items()}
    scatter, first = scatter_of(list(logs.values()), exact=exact), group.smallest
    found = []
    for count, runs in group.runs.items():
        gain = fmean(logs[count]) - fmean(logs[first])
        margin = scatter.margin(len(runs), len(logs[first])) if count != first else None
        interval = None if margin is None else (math.exp(gain - margin), math.exp(gain + margin))
        rates = tuple(run.gflops for run in runs)
        one = runs[0]
        found.append(CountResult(group.scaling, group.order, count, one.N, one.grid, rates, math.exp(gain), interval))
    return found
