"""What runs on 1, 2, 4, … nodes tell: efficiency, growth, overhead, its limit, and what the order of nodes does."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, groupby, product
from statistics import fmean, stdev

from results.stats.intervals import USUAL_COUNT
from results.stats.noise import USUAL_NOISE


class Scaling(StrEnum):
    """How the problem grows with the nodes.

    WEAK: the memory of each node stays the same, so N grows with the root of the nodes. STRONG: N stays the same.
    """

    WEAK = "weak"
    STRONG = "strong"

    @property
    def words(self) -> str:
        """What a sentence about it begins with."""
        return f"{self.capitalize()} scaling"


class NodeOrder(StrEnum):
    """Which nodes run, and in which order ranks fill them.

    SORTED: the first ones, as the cluster lists them. SHUFFLED: random ones in random order, drawn anew for each run.
    """

    SORTED = "sorted"
    SHUFFLED = "shuffled"


@dataclass(frozen=True)
class OfKind:
    """Something of one kind of scaling and one order of the nodes."""

    scaling: Scaling
    order: NodeOrder


@dataclass(frozen=True)
class ScalingRun(OfKind):
    """One valid run.

    Attributes:
        count: nodes, or ranks on one machine.
        operations: floating-point operations of the run.
        time_s: HPL's own time.
        phases_s: seconds of each part of the run by its name in `overhead.PARTS`; empty if HPL did not time them.
    """

    count: int
    N: int
    grid: str
    gflops: float
    operations: float
    time_s: float
    phases_s: Mapping[str, float] = field(default_factory=dict, hash=False)


def alike(one: OfKind, other: OfKind) -> bool:
    """Return whether both are of the same kind of scaling and order of the nodes."""
    return (one.scaling, one.order) == (other.scaling, other.order)


@dataclass(frozen=True)
class RunGroup(OfKind):
    """The runs of one kind of scaling and one order of the nodes, by number of nodes, the smallest number first."""

    runs: Mapping[int, tuple[ScalingRun, ...]] = field(hash=False)

    @property
    def smallest(self) -> int:
        """The number of nodes that all others are compared with."""
        return next(iter(self.runs))

    @property
    def largest(self) -> int:
        """The largest number of nodes."""
        return next(reversed(tuple(self.runs)))

    def logs(self, count: int) -> list[float]:
        """Return the logarithm of the rate of each run on so many nodes."""
        return [math.log(run.gflops) for run in self.runs[count]]


def groups(runs: Iterable[ScalingRun]) -> list[RunGroup]:
    """Sort runs into groups: weak before strong, sorted before shuffled."""
    found = sorted(runs, key=lambda run: (run.scaling != Scaling.WEAK, run.order != NodeOrder.SORTED, run.count))
    return [
        RunGroup(scaling, order, {count: tuple(own) for count, own in groupby(one, lambda run: run.count)})
        for (scaling, order), one in groupby(found, lambda run: (run.scaling, run.order))
    ]


PRINTED = 5e-4
"""What four printed digits of a rate round away, so that exact runs seem to differ by it."""
COVERAGE = 0.95
"""Probability with which an interval holds the true value."""


def half_width(sd: float, freedom: int) -> float:
    """Return half of Student's interval of a value with so many degrees of freedom."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    return float(stdtrit(freedom, (1 + COVERAGE) / 2)) * sd


@dataclass(frozen=True)
class Scatter:
    """The standard deviation of one run's logarithm.

    Attributes:
        freedom: degrees of freedom; 0 where nothing is known, because nothing ran twice.
    """

    sd: float
    freedom: int

    def margin(self, *runs: int) -> float | None:
        """Return half the width of the interval of a difference between means of so many runs each, or None.

        Args:
            runs: the number of runs in each mean.
        """
        sd = self.sd * math.sqrt(sum(1 / count for count in runs))
        return half_width(sd, self.freedom) if self.freedom else None


def scatter_of(samples: Sequence[Sequence[float]], *, exact: bool = False) -> Scatter:
    """Pool the scatter of several groups of logarithms around the mean of each.

    The usual noise of runs (1 %) counts as two more degrees of freedom, so that three runs that happen to be equal
    do not give an interval without a width.

    Args:
        exact: a run gives the same each time, as a simulation without noise does; then only what differs counts.
    """
    squares = sum((value - fmean(own)) ** 2 for own in samples for value in own)
    freedom = sum(len(own) - 1 for own in samples)
    if not exact:
        squares, freedom = squares + USUAL_COUNT * USUAL_NOISE**2, freedom + USUAL_COUNT
    sd = math.sqrt(squares / freedom) if freedom else 0.0
    return Scatter(0.0, 0) if exact and sd < PRINTED else Scatter(sd, freedom)


Interval = tuple[float, float]


@dataclass(frozen=True)
class CountResult(OfKind):
    """The runs on one number of nodes.

    Attributes:
        gflops: of each run.
        efficiency: GFLOPS of a node as a part of those at the smallest number; 1 there.
        interval: holds the true efficiency with a probability of 95 %; None if nothing ran twice, and at the smallest.
    """

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
    first, strong = group.smallest, group.scaling is Scaling.STRONG
    base_s, base = fmean(run.time_s for run in group.runs[first]), group.runs[first][0].operations
    more = [(first / count, run) for count, runs in group.runs.items() if count != first for run in runs]
    if not more:
        return None
    xs = [1 - ideal if strong else -math.log2(ideal) for ideal, _ in more]
    times = [run.time_s / base_s / (1 if strong else run.operations / base * ideal) for ideal, run in more]
    ys = [each - (ideal if strong else 1) for each, (ideal, _) in zip(times, more, strict=True)]
    squares, freedom = sum(x * x for x in xs), len(xs) - 1
    part = sum(x * y for x, y in zip(xs, ys, strict=True)) / squares
    off = sum((y - part * x) ** 2 for x, y in zip(xs, ys, strict=True))
    logs = [group.logs(count) for count in group.runs]
    of_base = scatter_of(logs, exact=exact).margin(len(group.runs[first])) or 0.0
    moved = sum(x * each for x, each in zip(xs, times, strict=True)) / squares
    margin = math.hypot(half_width(math.sqrt(off / freedom / squares), freedom), moved * of_base)
    interval = max(0.0, part - margin), max(0.0, part + margin)
    return ScalingGrowth(group.scaling, max(0.0, part), interval, tuple(group.runs))


def _growth_of_two(group: RunGroup, *, exact: bool) -> ScalingGrowth:
    """Tell the law of two numbers of nodes from the efficiency of the larger one."""
    more, weak = efficiencies(group, exact=exact)[1], group.scaling is Scaling.WEAK
    each = math.log2(more.count / group.smallest) if weak else more.count / group.smallest - 1
    part, *ends = (max(0.0, (1 / one - 1) / each) for one in (more.efficiency, *reversed(more.interval or ())))
    return ScalingGrowth(group.scaling, part, (ends[0], ends[1]) if ends else None, tuple(group.runs))


PANEL, BROADCAST, SWAP, UPDATE, SOLVE = PARTS = ("panel", "broadcast", "swap", "update", "solve")
"""In the order in which reports show them."""
LEAST_S = 1.0
"""Of a run, from which its phases count: HPL prints them to 0.01 s."""


@dataclass(frozen=True)
class Overhead(OfKind):
    """The parts of the time on one number of nodes.

    Attributes:
        shares: part of the time by name, together 1.
        lost: part of the time by name that would not be there if each node were as fast as at the smallest number,
            with the same shares; together 1 less the efficiency. Below 0 it became faster.
    """

    count: int
    time_s: float
    shares: Mapping[str, float]
    lost: Mapping[str, float]


def parts_s(time_s: float, timers_s: Mapping[str, float]) -> dict[str, float]:
    """Divide the time of a run into PARTS; nothing if HPL did not time it, or if it is too short.

    Args:
        time_s: HPL's time of the run.
        timers_s: HPL's timers by the names that it prints.
    """
    if time_s < LEAST_S or not {"rfact", "update", "laswp", "up tr sv"} <= timers_s.keys():
        return {}
    panel, solve = timers_s["rfact"], timers_s["up tr sv"]
    swap = min(timers_s["laswp"], timers_s["update"])
    update = timers_s["update"] - swap
    timed = panel + update + swap + solve
    scale = min(1.0, time_s / timed) if timed else 1.0
    found = {
        name: scale * seconds for name, seconds in {PANEL: panel, SWAP: swap, UPDATE: update, SOLVE: solve}.items()
    }
    return {name: found.get(name, max(0.0, time_s - timed)) for name in PARTS}


def overheads(group: RunGroup) -> list[Overhead]:
    """Divide the mean time on each number of nodes, and what is lost of it against the smallest number."""
    timed = {count: [run for run in runs if run.phases_s] for count, runs in group.runs.items()}
    first = timed[group.smallest]
    if not first:
        return []
    base = _parts(first)
    found = []
    for count, runs in ((count, runs) for count, runs in timed.items() if runs):
        time_s, parts = fmean(run.time_s for run in runs), _parts(runs)
        work = runs[0].operations / first[0].operations * group.smallest / count
        lost = {name: (parts[name] - base[name] * work) / time_s for name in PARTS}
        shares = {name: parts[name] / time_s for name in PARTS}
        found.append(Overhead(group.scaling, group.order, count, time_s, shares, lost))
    return found


def _parts(runs: Sequence[ScalingRun]) -> dict[str, float]:
    return {name: fmean(run.phases_s[name] for run in runs) for name in PARTS}


LITTLE = 0.05
"""A loss up to this part is no limit."""


@dataclass(frozen=True)
class Limit:
    """What limits one kind of scaling at its largest number of nodes.

    Attributes:
        result: the efficiency there.
        part: name of the part of the time in which most is lost; None if little is lost, or HPL timed nothing.
        lost: part of the time that is lost in it.
        share: part of the time that it takes.
    """

    result: CountResult
    part: str | None = None
    lost: float = 0.0
    share: float = 0.0

    @property
    def surely_little(self) -> bool:
        """Whether nearly nothing is lost wherever in its interval the efficiency is."""
        return 1 - min(self.result.interval or (self.result.efficiency,)) <= LITTLE

    @property
    def perhaps_nothing(self) -> bool:
        """Whether the interval leaves open that nothing is lost."""
        return max(self.result.interval or (self.result.efficiency,)) >= 1


def limit_of(group: RunGroup, results: Sequence[CountResult], overheads: Sequence[Overhead]) -> Limit:
    """Find what limits a group at its largest number of nodes."""
    result = next(one for one in results if alike(one, group) and one.count == group.largest)
    limit = Limit(result)
    found = next((one for one in overheads if alike(one, group) and one.count == group.largest), None)
    if limit.surely_little or limit.perhaps_nothing or found is None:
        return limit
    part = max(found.lost, key=lambda name: found.lost[name])
    return Limit(result, part, found.lost[part], found.shares[part])


LEVEL = 0.05
"""A difference is shown where p is below this."""
MOST_EXACT = 20_000
"""Ways to exchange the labels up to which all are tried; of more, DRAWS are drawn."""
DRAWS = 4000
ROUNDED = 1e-12
"""What rounding does to equal sums."""

Logs = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class OrderEffect:
    """What shuffling does on one number of nodes.

    Attributes:
        loss: part of the sorted rate that shuffled lists lose; below 0 they are faster.
        interval: of the loss, 95 %; None if nothing ran twice.
    """

    count: int
    loss: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class OrderComparison:
    """What shuffling does for one kind of scaling.

    Attributes:
        effects: by number of nodes; where one node runs there is no order, so it is left out.
        p: probability of such differences if the order did not matter; None without a number of nodes.
    """

    scaling: Scaling
    effects: tuple[OrderEffect, ...]
    p: float | None

    @property
    def differ(self) -> bool:
        """Whether the order surely matters."""
        return self.p is not None and self.p < LEVEL


def compare_orders(sorted_: RunGroup, shuffled: RunGroup, *, exact: bool = False) -> OrderComparison:
    """Compare the rates of both orders on each number of nodes, and test over all numbers together.

    The test exchanges the labels "sorted" and "shuffled" among the runs of each number of nodes; the statistic is the
    square of the difference of mean logarithms, summed over the numbers, because shuffling may help on some and hurt on
    others. In a simulation without noise the rate of the sorted list is known, and only shuffled lists scatter: then it
    is Student's test of their mean against that rate, with the p of all numbers corrected (Bonferroni).

    Args:
        exact: as in `scatter_of`.
    """
    both = [count for count in sorted_.runs if count > 1 and count in shuffled.runs]
    logs: dict[int, Logs] = {count: (sorted_.logs(count), shuffled.logs(count)) for count in both}
    own = scatter_of([one for one, _ in logs.values()], exact=exact)
    other = scatter_of([two for _, two in logs.values()], exact=exact)
    effects = []
    for count, (one, two) in logs.items():
        lost, margins = fmean(one) - fmean(two), (own.margin(len(one)), other.margin(len(two)))
        off = [margin for margin in margins if margin is not None]
        low, loss, high = (-math.expm1(shift - lost) for shift in (math.hypot(*off), 0.0, -math.hypot(*off)))
        effects.append(OrderEffect(count, loss, (low, high) if off else None))
    p = None if not logs else _p_of_exact(logs) if exact else _p(logs)
    return OrderComparison(sorted_.scaling, tuple(effects), p)


def _p_of_exact(logs: Mapping[int, Logs]) -> float:
    """Compute the p that shuffled lists have the mean of the sorted one, whose rate has no noise."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import, and most commands do not need it

    least = 1.0
    for one, two in logs.values():
        off, freedom = abs(fmean(two) - fmean(one)), len(two) - 1
        if off < PRINTED or not freedom:
            continue
        error = stdev(two) / math.sqrt(len(two))
        least = min(least, 2 * float(stdtr(freedom, -off / error)) if error else 0.0)
    return min(1.0, len(logs) * least)


def _p(logs: Mapping[int, Logs]) -> float:
    """Compute the p of the permutation test within each number of nodes."""
    found = sum((fmean(one) - fmean(two)) ** 2 for one, two in logs.values())
    pools = [([*one, *two], len(one)) for one, two in logs.values()]
    ways = math.prod(math.comb(len(pool), count) for pool, count in pools)
    if ways <= MOST_EXACT:
        each = [[_square(pool, picked) for picked in combinations(range(len(pool)), count)] for pool, count in pools]
        sums = [sum(parts) for parts in product(*each)]
        return sum(one >= found - ROUNDED for one in sums) / len(sums)
    chance = random.Random(0)  # noqa: S311 - a test, not a secret
    drawn = (sum(_square(pool, chance.sample(range(len(pool)), count)) for pool, count in pools) for _ in range(DRAWS))
    return (sum(one >= found - ROUNDED for one in drawn) + 1) / (DRAWS + 1)


def _square(pool: Sequence[float], picked: Sequence[int]) -> float:
    """Return the square of the difference that this choice of labels gives."""
    others = [value for place, value in enumerate(pool) if place not in picked]
    return (fmean(pool[place] for place in picked) - fmean(others)) ** 2
