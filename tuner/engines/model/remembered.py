"""Chooses the runs that condition the process: all of a small study, of a large one those that tell most.

Repeats of one configuration on one rung in one session are one observation: their mean, which is as sure as they are
many. Nothing is lost by that. A Gaussian process takes time by the cube of its observations and memory by their square,
so of more than MOST of them a subset is kept (J. Quinonero-Candela, C. Rasmussen, "A unifying view of sparse
approximate Gaussian process regression", 2005, section 3.1): the newest, because they were asked for; the fastest,
because what is best is decided among them; and of the others those whose values the rest has least, so that each value
of each parameter stays known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Codes, Vector
from ..fidelity import Rung

MOST = 400
"""Observations that the process holds: an ask then takes about as long after 10,000 trials as after 400."""
RENEWED = 50
"""Runs after which it is chosen anew what is kept; those since are kept all."""
NEWEST, FASTEST = 100, 150
"""Of what is kept, the newest and the fastest observations; the rest has the values that are rarest among them."""
LOOKED_AT = 5_000
"""Observations among which rare values are looked for, evenly spread where there are more."""


@dataclass(frozen=True)
class MeasuredRun:
    """One run that gave a rate.

    Attributes:
        place: its configuration's number in the pool.
        rest_s: seconds of the launch beside HPL's time, None where that is not known; `sharing` runs had that launch.
    """

    place: int
    rung: Rung
    log_rate: float
    session: int
    rest_s: float | None
    sharing: int

    @property
    def repeated(self) -> "Repeated":
        """What all repeats of the run have in common."""
        return self.place, self.rung, self.session


Repeated = tuple[int, Rung, int]
"""Place, rung and session."""


@dataclass(frozen=True)
class Observation:
    """Runs of one configuration on one rung in one session.

    Attributes:
        log_rate: their mean, natural logarithm of GFLOPS.
        count: how many they are.
        scatter: sum of the squares of their distances from the mean.
        last: number of the newest of them among all runs.
    """

    place: int
    rung: Rung
    session: int
    log_rate: float
    count: int
    scatter: float
    last: int

    def and_then(self, log_rate: float, last: int) -> "Observation":
        """The observation with one more run."""
        count, away = self.count + 1, log_rate - self.log_rate
        mean = self.log_rate + away / count
        scatter = self.scatter + away * (log_rate - mean)
        return Observation(self.place, self.rung, self.session, mean, count, scatter, last)


Observations = dict[Repeated, Observation]


def observed(runs: Iterable[MeasuredRun], before: Observations | None = None, first: int = 0) -> Observations:
    """Group the repeats of runs into observations, in the order of the first of each.

    Args:
        before: those of earlier runs, to which they are added.
        first: number of the first run.
    """
    found = {} if before is None else before
    for number, run in enumerate(runs, start=first):
        key = run.repeated
        known = found.get(key)
        found[key] = (
            Observation(run.place, run.rung, run.session, run.log_rate, 1, 0.0, number)
            if known is None
            else known.and_then(run.log_rate, number)
        )
    return found


def most_telling(codes: Codes, rivals: Codes, rates: Vector, last: Codes, wanted: int) -> NDArray[np.intp]:
    """Choose at most so many observations that tell most, in their order.

    Args:
        codes: value numbers, shape (observations, axes).
        rivals: number of the group of each whose rates are compared: those of one rung.
        rates: logarithms, and `last` the number of the newest run of each.
    """
    size = len(rates)
    if size <= wanted:
        return np.arange(size)
    kept = np.zeros(size, dtype=bool)
    kept[np.argsort(-last, kind="stable")[:NEWEST]] = True
    ranks = np.empty(size)
    for group in np.unique(rivals):
        here = np.flatnonzero(rivals == group)
        ranks[here[np.argsort(-rates[here], kind="stable")]] = np.arange(len(here))
    ranks[kept] = np.inf
    kept[np.argsort(ranks, kind="stable")[:FASTEST]] = True
    left = np.flatnonzero(~kept)
    left = left[:: -(-len(left) // LOOKED_AT)]
    table = np.hstack([codes, rivals[:, None]])
    kept[left[_rarest(table[left], table[kept], wanted - int(kept.sum()))]] = True
    return np.flatnonzero(kept)


def _rarest(codes: Codes, kept: Codes, wanted: int) -> Sequence[int]:
    """Yield, one after the other, the observation whose values were kept least often so far.

    Args:
        codes: value numbers of the candidates, shape (candidates, axes); `kept` of what is kept already.
    """
    size = 1 + int(max(codes.max(initial=0), kept.max(initial=0)))
    axes, chosen = np.arange(codes.shape[1]), list[int]()
    seen = np.array([np.bincount(values, minlength=size) for values in kept.T], dtype=float)
    free = np.ones(len(codes), dtype=bool)
    for _ in range(min(wanted, len(codes))):
        rarity = np.where(free, (1 / (1 + seen))[axes, codes].sum(axis=1), -1.0)
        best = int(np.argmax(rarity))
        chosen.append(best)
        free[best] = False
        seen[axes, codes[best]] += 1
    return chosen
