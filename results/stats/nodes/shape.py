"""The shape of the results of one benchmark on all nodes: results of equal nodes form one bell."""

import math
from collections.abc import Sequence
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
