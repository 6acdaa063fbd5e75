"""Whether results come from two populations of nodes, and which fact of the nodes separates them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from .odd_nodes import FEWEST_FOR_SHAPE, LEAST_PERCENT, shape_of

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
Array = np.ndarray[tuple[int], np.dtype[np.float64]]


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
