"""Which nodes are not like the others of their class, with a stated risk to blame a sound one."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from scipy import stats

from .shape import bulk_sd

FALSE_ALARMS = 0.01
"""Probability to blame any node of a healthy cluster, over all benchmarks of a check together."""
LEAST_PERCENT = 2.0
"""Deviations below it matter to nobody, and need not be real: no two boards are equal."""
LEAST_SD = 0.0025
"""Standard deviation, as a part of the median, where most results are the same figure: they are so by chance."""
FEWEST = 5
"""Nodes below which an odd one cannot be told from the spread of sound ones."""


@dataclass(frozen=True)
class OddNode:
    """A node that is not like the others.

    Attributes:
        percent: its distance from the median, in percent of that; below 0 it is slower.
        sds: the same in robust standard deviations of the others.
    """

    node: str
    value: float
    percent: float
    sds: float


def odd_nodes(values: Mapping[str, float], benchmarks: int = 1, *, higher_is_better: bool = True) -> list[OddNode]:
    """Find nodes whose result is worse than the bulk's, worst first.

    A node is odd if it is worse than the median by more standard deviations of the bulk than any of so many sound
    nodes is in all benchmarks with a probability of FALSE_ALARMS (Bonferroni), and by LEAST_PERCENT. The deviation of
    few nodes is itself uncertain, therefore the limit is a quantile of Student's t.

    Args:
        values: of one benchmark by node, positive; nodes of one class.
        benchmarks: how many are looked at together.
    """
    if len(values) < FEWEST:
        return []
    middle = median(values.values())
    sd = bulk_sd(list(values.values())) or LEAST_SD * middle
    limit = _limit(len(values), benchmarks)
    sign = -1.0 if higher_is_better else 1.0
    found = []
    for node, value in values.items():
        percent = 100.0 * (value - middle) / middle
        sds = (value - middle) / sd
        if sign * percent >= LEAST_PERCENT and sign * sds >= limit:
            found.append(OddNode(node, value, percent, sds))
    return sorted(found, key=lambda odd: -sign * odd.percent)


def _limit(nodes: int, benchmarks: int) -> float:
    """Return the standard deviations beyond which no sound node is.

    The robust estimate from n values tells about as much as the standard deviation of 0.8 n (its efficiency).
    """
    freedom = max(2.0, 0.8 * (nodes - 1))
    return float(stats.t.isf(FALSE_ALARMS / (nodes * benchmarks), freedom))
