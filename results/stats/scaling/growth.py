"""How the loss grows with the nodes: Amdahl's serial part, and what each doubling adds."""

import math
from dataclasses import dataclass
from statistics import fmean

from .efficiency import efficiencies
from .runs import RunGroup, Scaling
from .student import COVERAGE, scatter_of


@dataclass(frozen=True)
class ScalingGrowth:
    """A law of one figure that is fitted to the times.

    Attributes:
        scaling: STRONG has Amdahl's law, T(n) / T(n0) = f + (1 - f) n0 / n, and `part` is the serial part f. WEAK has
            T(n) / ideal time = 1 + c log2(n / n0), and `part` is c, what each doubling adds.
        part: as a part of 1, at least 0.
        interval: of the part, 95 %.
        counts: numbers of nodes that ran, the smallest first. Two of them cannot check the law.
    """

    scaling: Scaling
    part: float
    interval: tuple[float, float] | None
    counts: tuple[int, ...]

    def doubled(self) -> float:
        """Return how many times as fast twice the largest number of nodes is as that number, if the law goes on."""
        first, last = self.counts[0], self.counts[-1]
        if self.scaling is Scaling.STRONG:
            return (self.part + (1 - self.part) * first / last) / (self.part + (1 - self.part) * first / last / 2)
        done = math.log2(last / first)
        return 2 * (1 + self.part * done) / (1 + self.part * (done + 1))


def growth_of(group: RunGroup, *, exact: bool = False) -> ScalingGrowth | None:
    """Fit the law by least squares through the origin; None with one number of nodes.

    Of two numbers the law tells what their efficiency does, in other words. With more, the interval is Student's, from
    how far the runs are off the law, so it also holds what the law does not describe; the chance in the runs on the
    smallest number, which all others are compared with, is added.

    Args:
        exact: as in `scatter_of`.
    """
    if len(group.runs) == 2:
        return _growth_of_two(group, exact=exact)
    first = group.smallest
    base_s = fmean(run.time_s for run in group.runs[first])
    base = group.runs[first][0].operations
    xs, ys, times_of_base = [], [], []
    for count, runs in group.runs.items():
        ideal = first / count
        if count == first:
            continue
        for run in runs:
            ratio = run.time_s / base_s
            if group.scaling is Scaling.STRONG:
                xs.append(1 - ideal)
                ys.append(ratio - ideal)
                times_of_base.append(ratio)
            else:
                xs.append(math.log2(count / first))
                ys.append(ratio / (run.operations / base * ideal) - 1)
                times_of_base.append(ys[-1] + 1)
    if not xs:
        return None
    squares = sum(x * x for x in xs)
    part = sum(x * y for x, y in zip(xs, ys, strict=True)) / squares
    logs = [[math.log(run.gflops) for run in runs] for runs in group.runs.values()]
    of_base = scatter_of(logs, exact=exact).margin(len(group.runs[first])) or 0.0
    moved = sum(x * times for x, times in zip(xs, times_of_base, strict=True)) / squares
    margin = math.hypot(_margin(xs, ys, part), moved * of_base)
    interval = max(0.0, part - margin), max(0.0, part + margin)
    return ScalingGrowth(group.scaling, max(0.0, part), interval, tuple(group.runs))


def _growth_of_two(group: RunGroup, *, exact: bool) -> ScalingGrowth:
    """Tell the law of two numbers of nodes from the efficiency of the larger one."""
    more = efficiencies(group, exact=exact)[1]
    times = more.count / group.smallest

    def part(efficiency: float) -> float:
        if group.scaling is Scaling.WEAK:
            return max(0.0, (1 / efficiency - 1) / math.log2(times))
        return max(0.0, (1 / efficiency - 1) / (times - 1))

    interval = None if more.interval is None else (part(more.interval[1]), part(more.interval[0]))
    return ScalingGrowth(group.scaling, part(more.efficiency), interval, tuple(group.runs))


def _margin(xs: list[float], ys: list[float], part: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    freedom = len(xs) - 1
    off = sum((y - part * x) ** 2 for x, y in zip(xs, ys, strict=True))
    quantile = float(stdtrit(freedom, (1 + COVERAGE) / 2))
    return quantile * math.sqrt(off / freedom / sum(x * x for x in xs))
