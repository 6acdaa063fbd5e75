"""Sorted against shuffled lists of nodes: whether it matters which nodes are neighbours.

A sorted list keeps most messages within a switch, so that a cluster with weak uplinks looks well. A shuffled one sends
them everywhere (Egan Ford, "Linux Cluster Production Readiness", 2005: "Ask for sorted and shuffled benchmarks").
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import fmean, stdev

from .runs import RunGroup, Scaling
from .student import PRINTED, scatter_of

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
class OrdersCompared:
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


def compare_orders(sorted_: RunGroup, shuffled: RunGroup, *, exact: bool = False) -> OrdersCompared:
    """Compare the rates of both orders on each number of nodes, and test over all numbers together.

    The test exchanges the labels "sorted" and "shuffled" among the runs of each number of nodes; the statistic is the
    square of the difference of mean logarithms, summed over the numbers, because shuffling may help on some and hurt on
    others. In a simulation without noise the rate of the sorted list is known, and only shuffled lists scatter: then it
    is Student's test of their mean against that rate, with the p of all numbers corrected (Bonferroni).

    Args:
        exact: as in `scatter_of`.
    """
    logs: dict[int, Logs] = {
        count: (_logs(sorted_, count), _logs(shuffled, count))
        for count in sorted_.runs
        if count > 1 and count in shuffled.runs
    }
    own = scatter_of([one for one, _ in logs.values()], exact=exact)
    other = scatter_of([two for _, two in logs.values()], exact=exact)
    effects = []
    for count, (one, two) in logs.items():
        lost = fmean(one) - fmean(two)
        margins = [own.margin(len(one)), other.margin(len(two))]
        known = [margin for margin in margins if margin is not None]
        margin = math.hypot(*known) if known else None
        interval = None if margin is None else (_loss(lost - margin), _loss(lost + margin))
        effects.append(OrderEffect(count, _loss(lost), interval))
    p = None if not logs else _p_of_exact(logs) if exact else _p(logs)
    return OrdersCompared(sorted_.scaling, tuple(effects), p)


def _logs(group: RunGroup, count: int) -> list[float]:
    return [math.log(run.gflops) for run in group.runs[count]]


def _loss(log: float) -> float:
    return 1 - math.exp(-log)


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
    chosen = set(picked)
    one = [pool[place] for place in chosen]
    two = [value for place, value in enumerate(pool) if place not in chosen]
    return (fmean(one) - fmean(two)) ** 2
