"""Which nodes are not like the others of their class, with a stated risk to blame a sound one.

Each result is held against the bulk of the nodes, from which suspects are taken out first, so that several bad nodes
do not hide each other. Benchmarks that load the same part of a machine have one cause and are one family. A node has
one probability in a family (Simes 1986), and the nodes are judged together (Benjamini and Hochberg 1995).
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
