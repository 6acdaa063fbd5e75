"""Which nodes are not like the others of their class, with a stated risk to blame a sound one.

Each result is held against the bulk of the nodes, from which suspects are taken out first, so that several bad nodes
do not hide each other. Benchmarks that load the same part of a machine have one cause and are one family. A node has
one probability in a family (Simes 1986), and the nodes are judged together (Benjamini and Hochberg 1995).

Results may also come from two populations of nodes; then the fact of the nodes that separates them is looked for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

import numpy as np
import scipy

FEWEST_FOR_SHAPE = 8
"""Nodes below which nothing is said of the shape: any three points look like a bell."""
MOST_FOR_SHAPIRO = 5000
"""Values up to which the Shapiro-Wilk test is exact enough (Royston 1995, AS R94)."""
MEDIAN_SCATTERS = 1.2533
"""Standard deviation of the median of many normal values, in that of their mean: the root of pi / 2."""
MOST_PAIRED = 1000
"""Values of which all pairs are looked at; of more, so many are taken evenly."""


@dataclass(frozen=True)
class ResultShape:
    """How the results of one benchmark are spread over the nodes.

    Attributes:
        low, high, mean, middle: in the benchmark's unit; `middle` is the median.
        spread_percent: (high - low) / low, as the STAB toolkit prints it.
        sd: standard deviation; 0 for one node.
        skew: third standardised moment; None where there are too few nodes, or all results are equal.
        normal_p: probability (Shapiro-Wilk) of a sample at least as odd, if the results were normal; None as above.
        one_peak_p: probability (Hartigan's dip test) of a deeper dip, if there was one peak; None as above.
    """

    nodes: int
    low: float
    high: float
    mean: float
    middle: float
    sd: float
    spread_percent: float
    skew: float | None = None
    normal_p: float | None = None
    one_peak_p: float | None = None


def shape_of(values: Sequence[float]) -> ResultShape:
    """Describe results, one of each node.

    Args:
        values: positive and finite; one at least.
    """
    low, high = min(values), max(values)
    plain = ResultShape(
        nodes=len(values),
        low=low,
        high=high,
        mean=fmean(values),
        middle=median(values),
        sd=stdev(values) if len(values) > 1 else 0.0,
        spread_percent=100.0 * (high - low) / low,
    )
    if len(values) < FEWEST_FOR_SHAPE or low == high:
        return plain
    from diptest import diptest  # noqa: PLC0415 - compiled, and only here needed

    found = np.asarray(values, dtype=float)
    shapiro = (
        scipy.stats.shapiro(found).pvalue if len(values) <= MOST_FOR_SHAPIRO else scipy.stats.normaltest(found).pvalue
    )
    return replace(
        plain,
        skew=float(scipy.stats.skew(found)),
        normal_p=float(shapiro),
        one_peak_p=float(diptest(found)[1]),
    )


def robust_sd(values: Sequence[float]) -> float:
    """Estimate the standard deviation of the bulk of values, which a few odd ones do not change.

    Where most values are equal, the mean absolute deviation stands in, which is above 0 unless all are equal.
    """
    if len(values) < 2:
        return 0.0
    found = np.asarray(values, dtype=float)
    return bulk_sd(values) or math.sqrt(math.pi / 2.0) * float(np.abs(found - np.median(found)).mean())


def bulk_sd(values: Sequence[float]) -> float:
    """Estimate the standard deviation of the bulk of values by Qn; 0 where most values are equal.

    Qn is the lower quartile of the distances of all pairs (Rousseeuw and Croux 1993). Up to half of the values may be
    odd, and for normal ones it is nearly as good as the standard deviation.
    """
    count = len(values)
    if count < 2:
        return 0.0
    found = np.sort(np.asarray(values, dtype=float))
    if count > MOST_PAIRED:
        found = found[np.linspace(0, count - 1, MOST_PAIRED).astype(int)]
        count = MOST_PAIRED
    distances = np.abs(found[:, None] - found[None, :])[np.triu_indices(count, 1)]
    half = count // 2 + 1
    rank = half * (half - 1) // 2
    scale = 2.2219 * float(np.partition(distances, rank - 1)[rank - 1])
    return scale * count / (count + (1.4 if count % 2 else 3.8))  # for small samples, as the authors give it


def histogram(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """Count values in bins of equal width: as many as the square root of the number of values, as STAB's dplot takes.

    Returns:
        The edges of the bins, one more than there are bins, and the number of values in each.
    """
    counts, edges = np.histogram(np.asarray(values, dtype=float), bins=max(1, math.isqrt(len(values))))
    return [float(edge) for edge in edges], [int(count) for count in counts]


def normal_quantiles(values: Sequence[float]) -> list[tuple[float, float]]:
    """Pair each value, lowest first, with the standard normal quantile of its place (Blom's positions)."""
    count = len(values)
    places = (np.arange(1, count + 1) - 0.375) / (count + 0.25)
    return list(zip((float(one) for one in scipy.stats.norm.ppf(places)), sorted(values), strict=True))


FALSE_ALARMS = 0.01
"""Probability to blame any node of a healthy cluster, over all benchmarks of a check together."""
LEAST_PERCENT = 2.0
"""Deviations below it matter to nobody, and need not be real: no two boards are equal."""
LEAST_SD = 0.0025
"""Standard deviation, as a part of the median, where most results are the same figure: they are so by chance."""
FEWEST = 5
"""Nodes below which an odd one cannot be told from the spread of sound ones."""
Array = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class NodeScore:
    """How far a node's result is from the bulk.

    Attributes:
        percent: its distance from the median, in percent of that; below 0 it is worse.
        sds: the same in robust standard deviations of the bulk.
        p: probability of a sound node so low; 1 where it is less than LEAST_PERCENT below.
    """

    node: str
    value: float
    percent: float
    sds: float
    p: float


def odd_nodes(values: Mapping[str, float]) -> list[NodeScore]:
    """Find nodes whose result in one benchmark is lower than the bulk's, worst first.

    Args:
        values: by node, positive; nodes of one class.
    """
    odd = odd_in_family({"": scores(values)}, FALSE_ALARMS)
    return sorted((own[""] for own in odd.values()), key=lambda score: score.percent)


def scores(values: Mapping[str, float]) -> dict[str, NodeScore]:
    """Hold the result of each node against the bulk; of fewer than FEWEST nodes nothing is said.

    The spread of few nodes is itself uncertain, therefore probabilities are those of Student's t. Qn of n values tells
    about as much as the standard deviation of 0.8 n (its efficiency, Rousseeuw and Croux 1993); that two degrees of
    freedom are lost with median and spread keeps the risk of five to eight nodes below FALSE_ALARMS (measured).
    """
    if len(values) < FEWEST:
        return {}
    measured = np.asarray(list(values.values()), dtype=float)
    bulk = _Bulk.of(measured)
    found = {}
    for (node, value), p in zip(values.items(), bulk.p(measured), strict=True):
        percent = 100.0 * (value / bulk.middle - 1.0)
        sds = (value - bulk.middle) / bulk.sd
        found[node] = NodeScore(node, value, percent, sds, float(p) if percent <= -LEAST_PERCENT else 1.0)
    return found


def odd_in_family(family: Mapping[str, Mapping[str, NodeScore]], risk: float) -> dict[str, dict[str, NodeScore]]:
    """Find the nodes that are odd in benchmarks with one cause, and the benchmarks that show it.

    A node that all benchmarks show counts as one that the only benchmark showed; one that a single benchmark of m shows
    has m times that probability (Simes). Where all nodes are sound any is blamed with the probability `risk`; of the
    nodes that are named on other clusters this part is sound on average (Benjamini and Hochberg).

    Args:
        family: of each benchmark the scores by node.

    Returns:
        By node the scores in the benchmarks that show it.
    """
    nodes = list(dict.fromkeys(node for found in family.values() for node in found))
    if not nodes:
        return {}
    p = [[found[node].p if node in found else 1.0 for found in family.values()] for node in nodes]
    corrected = scipy.stats.false_discovery_control(p, axis=1)
    odd = scipy.stats.false_discovery_control(corrected.min(axis=1)) <= risk
    level = risk * odd.sum() / len(nodes)
    return {
        node: {name: found[node] for (name, found), one in zip(family.items(), own, strict=True) if one <= level}
        for node, own, is_odd in zip(nodes, corrected, odd, strict=True)
        if is_odd
    }


@dataclass(frozen=True)
class _Bulk:
    """The nodes that are alike: their median, their robust standard deviation, and the degrees of freedom behind it."""

    middle: float
    sd: float
    freedom: float

    @classmethod
    def of(cls, values: Array) -> "_Bulk":
        """Take nodes out that are too low, and look again, until none of those that are left is.

        Bad nodes widen the spread, so that they hide each other (masking). Only such a low node is taken out that it is
        odd by itself with the risk FALSE_ALARMS, so that a healthy cluster is blamed no more often than without this.
        More than half of the nodes stay.
        """
        left, fewest = values, max(FEWEST, len(values) // 2 + 1)
        while True:
            middle = float(np.median(left))
            bulk = cls(middle, bulk_sd(left.tolist()) or LEAST_SD * middle, max(2.0, 0.8 * (len(left) - 2)))
            alike = left[bulk.p(left) >= FALSE_ALARMS / len(values)]
            if not fewest <= len(alike) < len(left):
                return bulk
            left = alike

    def p(self, values: Array) -> Array:
        """Return the probability of a sound node so low."""
        return np.asarray(scipy.stats.t.cdf((values - self.middle) / self.sd, self.freedom))


CERTAIN = 0.001
"""Probability below which one population is refused; a check looks at several benchmarks."""
EXPLAINED = 0.01
"""Probability, corrected for the facts that vary, below which a fact explains two populations."""
FEWEST_IN_GROUP = 3
"""Nodes that make a population; fewer are odd ones."""
TWO_PEAKS = 2.0
"""Distance of two means in standard deviations above which a mixture of two normals has two peaks (Ashman's D)."""
FAR_APART = 3.5
"""The same, above which a valley between the groups tells as much as the dip test, which wants many nodes."""
VALLEY = 0.3
"""Part of the smaller group that may lie in the middle third between the means, where a valley has to be."""
STEPS = 200
"""Steps of expectation and maximisation at most."""


@dataclass(frozen=True)
class TwoGroups:
    """Two populations.

    Attributes:
        slow, fast: nodes with lower and with higher results, sorted.
        border: results below it belong to the slower group.
        percent: how much lower the mean of the slower group is than the other's.
        p: probability of so clear a split, if all nodes were of one population.
    """

    slow: tuple[str, ...]
    fast: tuple[str, ...]
    border: float
    percent: float
    p: float


@dataclass(frozen=True)
class SeparatingFact:
    """A fact that is different in the two populations.

    Attributes:
        fact: its name.
        slow, fast: the value that most nodes of each group have.
        agree: part of all nodes that the fact puts into the right group, 0 to 1.
        p: probability of so good an agreement by chance (Fisher's exact test), times the number of facts that vary.
    """

    fact: str
    slow: str
    fast: str
    agree: float
    p: float


def two_groups(values: Mapping[str, float]) -> TwoGroups | None:
    """Split nodes into two populations, where one does not explain their results.

    Two normal distributions of one width are fitted to the results (expectation and maximisation). They count as two
    populations if their means are TWO_PEAKS apart and Hartigan's dip test refuses a single peak, or if the means are
    FAR_APART with a valley between, and two explain the results better than one would by chance (likelihood ratio; 4
    degrees of freedom are twice the parameters, which McLachlan 1987 found to be on the safe side).
    """
    if len(values) < FEWEST_FOR_SHAPE:
        return None
    nodes = sorted(values, key=lambda node: (values[node], node))
    found = np.asarray([values[node] for node in nodes], dtype=float)
    mixture = _fitted(found)
    if mixture is None:
        return None
    border = mixture.border
    cut = int(np.searchsorted(found, border))
    if min(cut, len(found) - cut) < FEWEST_IN_GROUP:
        return None
    dip_p = shape_of(list(values.values())).one_peak_p or 0.0
    by_dip = mixture.apart > TWO_PEAKS and dip_p < CERTAIN
    by_valley = mixture.apart > FAR_APART and mixture.p < CERTAIN and _has_valley(found, cut, mixture)
    if not (by_dip or by_valley):
        return None
    slow, fast = found[:cut].mean(), found[cut:].mean()
    return TwoGroups(
        slow=tuple(sorted(nodes[:cut])),
        fast=tuple(sorted(nodes[cut:])),
        border=border,
        percent=float(100.0 * (fast - slow) / fast),
        p=min(dip_p, mixture.p) if by_valley else dip_p,
    )


def split_by_fact(values: Mapping[str, float], facts: Mapping[str, Mapping[str, str]]) -> TwoGroups | None:
    """Split nodes by a fact whose two usual values go with different results; None where there is no such fact.

    Where a fact is known, fewer nodes show two populations than their results alone do: Welch's test of the two groups,
    corrected for the number of facts. Facts that are alike on all nodes cannot separate them and do not count.
    """
    told = []
    for own in facts.values():
        sides: dict[str, list[str]] = {}
        for node in values:
            sides.setdefault(own.get(node, ""), []).append(node)
        large = sorted((side for side in sides.values() if len(side) >= FEWEST_IN_GROUP), key=len)[-2:]
        if len(large) == 2:
            told.append(sorted(large, key=lambda side: sum(values[node] for node in side) / len(side)))
    best: TwoGroups | None = None
    for slow, fast in told:
        low, high = ([values[node] for node in side] for side in (slow, fast))
        if len(set(low)) == len(set(high)) == 1:
            p = 0.0 if low[0] < high[0] else 1.0
        else:
            p = min(1.0, float(scipy.stats.ttest_ind(low, high, equal_var=False).pvalue) * len(told))
        percent = 100.0 * (1.0 - (sum(low) / len(low)) / (sum(high) / len(high)))
        if p < CERTAIN and percent >= LEAST_PERCENT and (best is None or p < best.p):
            border = (sum(low) / len(low) + sum(high) / len(high)) / 2.0
            best = TwoGroups(tuple(sorted(slow)), tuple(sorted(fast)), border, percent, p)
    return best


def separating_facts(groups: TwoGroups, facts: Mapping[str, Mapping[str, str]]) -> list[SeparatingFact]:
    """Find facts of nodes that tell the two groups apart, best first.

    Args:
        facts: values of each fact by node; a node without one has "".
    """
    nodes = (*groups.slow, *groups.fast)
    varied = {fact: own for fact, own in facts.items() if len({own.get(node, "") for node in nodes}) > 1}
    told = []
    for fact, values in varied.items():
        counts = {side: _counted(values, nodes) for side, nodes in (("slow", groups.slow), ("fast", groups.fast))}
        slow, fast = (max(counts[side], key=lambda value, side=side: counts[side][value]) for side in ("slow", "fast"))  # type: ignore[misc]
        if slow == fast:
            continue
        right = counts["slow"][slow], counts["fast"][fast]
        table = np.array([[right[0], len(groups.slow) - right[0]], [len(groups.fast) - right[1], right[1]]])
        p = float(scipy.stats.fisher_exact(table, alternative="greater").pvalue) * len(varied)
        agree = sum(right) / (len(groups.slow) + len(groups.fast))
        told.append(SeparatingFact(fact, slow, fast, agree, min(1.0, p)))
    return sorted((fact for fact in told if fact.p < EXPLAINED), key=lambda fact: (-fact.agree, fact.p, fact.fact))


def _counted(values: Mapping[str, str], nodes: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        value = values.get(node, "")
        counts[value] = counts.get(value, 0) + 1
    return counts


@dataclass(frozen=True)
class _Mixture:
    """Two normal distributions of one width.

    Attributes:
        means: the lower one first.
        part: of the results in the lower one, 0 to 1.
        p: probability of results that two explain so much better than one, if there was one.
    """

    means: tuple[float, float]
    sd: float
    part: float
    p: float

    @property
    def apart(self) -> float:
        """Return the distance of the means in standard deviations."""
        return (self.means[1] - self.means[0]) / self.sd

    @property
    def border(self) -> float:
        """Return the value that belongs to both distributions with the same probability."""
        low, high = self.means
        shift = self.sd**2 / (high - low) * math.log(self.part / (1.0 - self.part))
        return min(high, max(low, (low + high) / 2.0 + shift))


def _fitted(found: Array) -> _Mixture | None:
    """Fit a mixture to sorted results; None where they are all alike, or one group has died out."""
    floor = 1e-4 * abs(float(found.mean()))  # results are printed with about so many digits
    sd_of_one = max(floor, float(found.std()))
    cut = _best_cut(found)
    if cut is None:
        return None
    means = np.array([found[:cut].mean(), found[cut:].mean()])
    within = found[:cut].var() * cut + found[cut:].var() * (len(found) - cut)
    part, sd = cut / len(found), max(floor, math.sqrt(within / len(found)))
    likelihood = -math.inf
    for _ in range(STEPS):
        logs = scipy.stats.norm.logpdf(found[:, None], means, sd) + np.log([part, 1.0 - part])
        both = np.logaddexp(logs[:, 0], logs[:, 1])
        low = np.exp(logs[:, 0] - both)
        part = float(low.mean())
        if not 1e-6 < part < 1.0 - 1e-6:
            return None
        means = np.array([(low * found).sum() / low.sum(), ((1 - low) * found).sum() / (1 - low).sum()])
        spread = low * (found - means[0]) ** 2 + (1 - low) * (found - means[1]) ** 2
        sd = max(floor, math.sqrt(float(spread.mean())))
        if both.sum() - likelihood < 1e-9:
            break
        likelihood = float(both.sum())
    one = float(scipy.stats.norm.logpdf(found, found.mean(), sd_of_one).sum())
    p = float(scipy.stats.chi2.sf(max(0.0, 2.0 * (float(both.sum()) - one)), 4))
    if means[0] >= means[1]:
        return None
    return _Mixture((float(means[0]), float(means[1])), sd, part, p)


def _best_cut(found: Array) -> int | None:
    """Return how many of the sorted results are below the cut that leaves the least variance within both groups."""
    count = len(found)
    cuts = np.arange(FEWEST_IN_GROUP, count - FEWEST_IN_GROUP + 1)
    distinct = found[cuts] > found[cuts - 1] if len(cuts) else np.array([], dtype=bool)  # equal ones stay together
    if not distinct.any():
        return None
    sums = np.concatenate([[0.0], np.cumsum(found)])
    below, above = sums[cuts] / cuts, (sums[-1] - sums[cuts]) / (count - cuts)
    between = cuts * (count - cuts) * (above - below) ** 2
    return int(cuts[np.argmax(np.where(distinct, between, -1.0))])


def _has_valley(found: Array, cut: int, mixture: _Mixture) -> bool:
    """Return whether few results are in the middle third between the means."""
    low, high = mixture.means
    third = (high - low) / 3.0
    inside = int(((found > low + third) & (found < high - third)).sum())
    return inside <= VALLEY * min(cut, len(found) - cut)
