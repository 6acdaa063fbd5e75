"""Which nodes are not like the others of their class, with a stated risk to blame a sound one.

Each result is held against the bulk of the nodes, which no suspect is part of, so that several bad nodes do not hide
each other, or themselves. Benchmarks that load the same part of a machine have one cause and are one family. A node has
one probability in a family (Simes 1986), and the nodes are judged together (Benjamini and Hochberg 1995).

Nodes that differ in a fact are two groups where their results differ, too, and are judged each in its group.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np
import scipy

FEWEST_FOR_SHAPE = 8
"""Nodes below which no shape is drawn: any three points look like a bell."""
MEDIAN_SCATTERS = 1.2533
"""Standard deviation of the median of many normal values, in that of their mean: the root of pi / 2."""
OF_FEW = (0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872)
"""Factors of Qn for 2 to 9 values (Croux and Rousseeuw 1992); for more they are n / (n + 1.4) and n / (n + 3.8)."""
MOST_PAIRED = 1000
"""Values of which all pairs are looked at; of more, so many are taken evenly."""


@dataclass(frozen=True)
class ResultShape:
    """How the results of one benchmark are spread over the nodes.

    Attributes:
        low, high, mean, middle: in the benchmark's unit; `middle` is the median.
        spread_percent: (high - low) / low, as the STAB toolkit prints it.
        sd: standard deviation; 0 for one node.
    """

    nodes: int
    low: float
    high: float
    mean: float
    middle: float
    sd: float
    spread_percent: float


def shape_of(values: Sequence[float]) -> ResultShape:
    """Describe results, one of each node.

    Args:
        values: positive and finite; one at least.
    """
    low, high = min(values), max(values)
    return ResultShape(
        nodes=len(values),
        low=low,
        high=high,
        mean=fmean(values),
        middle=median(values),
        sd=stdev(values) if len(values) > 1 else 0.0,
        spread_percent=100.0 * (high - low) / low,
    )


def robust_sd(values: Sequence[float]) -> float:
    """Estimate the standard deviation of the bulk of values, which a few odd ones do not change, by Qn.

    Qn is the lower quartile of the distances of all pairs (Rousseeuw and Croux 1993). Up to half of the values may be
    odd, and for normal ones it is nearly as good as the standard deviation. Where most values are equal, the mean
    absolute deviation stands in, which is above 0 unless all are equal.
    """
    count = len(values)
    if count < 2:
        return 0.0
    every = np.sort(np.asarray(values, dtype=float))
    found, count = every, min(count, MOST_PAIRED)
    if count < len(every):
        found = every[np.linspace(0, len(every) - 1, count).astype(int)]
    distances = np.abs(found[:, None] - found[None, :])[np.triu_indices(count, 1)]
    half = count // 2 + 1
    rank = half * (half - 1) // 2
    scale = 2.2219 * float(np.partition(distances, rank - 1)[rank - 1])
    qn = scale * (OF_FEW[count - 2] if count < 10 else count / (count + (1.4 if count % 2 else 3.8)))
    return qn or math.sqrt(math.pi / 2.0) * float(np.abs(every - np.median(every)).mean())


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
        p: probability of a sound node so low; 1 where it is less than LEAST_PERCENT below.
    """

    node: str
    value: float
    percent: float
    p: float


def odd_nodes(values: Mapping[str, float]) -> list[NodeScore]:
    """Find nodes whose result in one benchmark is lower than the bulk's, worst first.

    Args:
        values: by node, positive; nodes of one class.
    """
    odd = odd_in_family({"": scores(values)}, FALSE_ALARMS)
    return sorted((own[""] for own in odd.values()), key=lambda score: score.percent)


def scores(values: Mapping[str, float]) -> dict[str, NodeScore]:
    """Hold the result of each node against the bulk; of fewer than FEWEST nodes nothing is said."""
    if len(values) < FEWEST:
        return {}
    measured = np.asarray(list(values.values()), dtype=float)
    apart, bulk = _Bulk.both(measured)
    middle = float(np.median(measured))
    every = np.minimum(apart.p(measured), bulk.p(measured))
    if 2 * int((every < FALSE_ALARMS / len(values)).sum()) >= len(values):
        every = np.ones(len(values))  # two halves: nothing says which of them is sound
    found = {}
    for (node, value), p in zip(values.items(), every, strict=True):
        percent = 100.0 * (value / middle - 1.0)
        found[node] = NodeScore(node, value, percent, float(p) if percent <= -LEAST_PERCENT else 1.0)
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
    """The nodes that are alike: their middle, the standard deviation of one more, and its degrees of freedom."""

    middle: float
    sd: float
    freedom: float

    @classmethod
    def both(cls, values: Array) -> "tuple[_Bulk, _Bulk]":
        """Describe the bulk in two ways of which neither lets several bad nodes hide each other, or themselves.

        First from within: nodes stand in the order of their distances from the median. A third of them, the farthest,
        are out, and the nearest of these is held against those that are in. If it is like them, it is put back, and
        the next one is asked (Rosner 1983). So no node is part of the spread that it is held against. This is best
        where the bad nodes are apart from the others. Then by median and Qn of those that are in, which bad ones among
        them move little (Rousseeuw and Croux 1993). This is best where bad nodes are slow by all degrees. Qn of n
        values tells as much as the standard deviation of 0.8 n; median and spread cost two degrees of freedom.
        """
        order = values[np.argsort(-np.abs(values - np.median(values)), kind="stable")]
        alike = values
        for out in range((len(order) - 1) // 3, 0, -1):
            bulk, nearest = cls._around(order[out:]), order[out - 1]
            if 2.0 * float(bulk.p(bulk.middle - abs(nearest - bulk.middle))) < FALSE_ALARMS / (len(order) - out + 1):
                alike = order[out:]
                break
        fewest = max(FEWEST, len(values) // 2 + 1)
        left = alike
        while True:
            middle = float(np.median(left))
            robust = cls(middle, max(robust_sd(left.tolist()), LEAST_SD * middle), max(2.0, 0.8 * (len(left) - 2)))
            inside = left[robust.p(left) >= FALSE_ALARMS / len(values)]
            if not fewest <= len(inside) < len(left):
                return cls._around(alike), robust
            left = inside

    @classmethod
    def _around(cls, alike: Array) -> "_Bulk":
        middle = float(np.mean(alike))
        sd = max(float(np.std(alike, ddof=1)), LEAST_SD * middle)
        return cls(middle, sd * math.sqrt(1.0 + 1.0 / len(alike)), len(alike) - 1.0)

    def p(self, values: Array | float) -> Array:
        """Return the probability of a sound node so low."""
        return np.asarray(scipy.stats.t.cdf((values - self.middle) / self.sd, self.freedom))


CERTAIN = 0.001
"""Probability below which a fact makes two groups; a check looks at several benchmarks."""
EXPLAINED = 0.01
"""Probability, corrected for the facts that vary, below which a fact tells two groups apart."""
FEWEST_IN_GROUP = 3
"""Nodes that make a group; fewer are odd ones."""


@dataclass(frozen=True)
class TwoGroups:
    """Two groups of nodes that a fact separates.

    Attributes:
        slow, fast: nodes with lower and with higher results, sorted.
        border: results below it belong to the slower group.
        percent: how much lower the mean of the slower group is than the other's.
        p: probability of so different results, if the fact did not matter.
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


def split_by_fact(values: Mapping[str, float], facts: Mapping[str, Mapping[str, str]]) -> TwoGroups | None:
    """Split nodes by a fact whose two usual values go with different results; None where there is no such fact.

    Welch's test of the two groups is corrected for the number of facts. Facts that are alike on all nodes cannot
    separate them and do not count.
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
