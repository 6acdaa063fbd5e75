"""Says of each configuration of a pool what a run would be worth, and how long it would take."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hpl.sizing import flop_count
from search_spaces.parameters.dimension import Point

from ..hpl_time import LinearModel, Shapes
from ..outcomes import FULL, Rung
from ..points import Codes, Matrix, Vector
from .pool import LARGEST, PointRows, Pool
from .process import Process


def to_surpass(rates: Vector, theirs: Vector, worths: Vector) -> tuple[NDArray[np.intp], Vector]:
    """The rate above which none of some rivals beats a configuration in both objectives.

    Args:
        rates: of the rivals, and `theirs` what a GFLOPS of each is worth.
        worths: what a GFLOPS of each of the configurations is worth.

    Returns:
        For each configuration the number of the rival that says so, and the rate.
    """
    levels, level = np.unique(worths, return_inverse=True)
    bars = rates - np.maximum(0.0, levels[:, None] - theirs)
    rivals = np.argmax(bars, axis=1)
    return rivals[level], bars[np.arange(len(levels)), rivals][level]


def best_of_each(figures: Vector, worths: Vector, count: int) -> NDArray[np.intp]:
    """The `count` configurations with the highest figures, as many of each worth of a GFLOPS."""
    levels, level = np.unique(worths, return_inverse=True)
    order, each = np.argsort(-figures), -(-count // len(levels))
    return np.concatenate([order[level[order] == one][:each] for one in range(len(levels))])


SAME = 1e-12
"""Added to standard deviations, so that what a run cannot tell apart is no division by zero."""


HOPELESS = -8.0
"""Standard deviations from 0 beyond which the excess is 0 to machine precision, and need not be worked out."""


def expected_improvement(mean: Vector | Matrix, sd: Vector | Matrix) -> Vector | Matrix:
    """Mean of max(0, f) where f is normal (Mockus 1978), in the unit of the mean; sd above 0."""
    z = np.asarray(mean / sd)
    excess = np.zeros(z.shape)
    likely = z > HOPELESS
    some = z[likely]
    excess[likely] = some * ndtr(some) + np.exp(-0.5 * some**2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * excess)


def knowledge_gradient(mean: Vector, swayed: Matrix, worths: Vector | None = None) -> Vector:
    """The knowledge gradient: how much a run is expected to raise the rate of what looks best after it.

    P. Frazier, W. Powell, S. Dayanik, "The knowledge-gradient policy for correlated normal beliefs", INFORMS Journal
    on Computing 21 (2009); of all configurations that could take the place of the best the one is counted that gains
    most, which is a lower bound.

    Args:
        mean: of f at the configurations that may be best, shape (ahead,).
        swayed: change of these means with a run, by standard deviation of what is not known of the run, shape (ahead,
            runs).
        worths: logarithm of what a GFLOPS of each is worth by another objective, where a front is searched: then by how
            much it raises what gains most of that over all that beat it so far.

    Returns:
        Of each run, in the unit of the mean, shape (runs,).
    """
    worths = np.zeros(len(mean)) if worths is None else worths
    rivals, bars = to_surpass(mean, worths, worths)
    gains = expected_improvement((mean - bars)[:, None], np.abs(swayed - swayed[rivals]) + SAME)
    gains[rivals == np.arange(len(mean))] = 0.0
    return np.asarray(gains.max(axis=0))


AROUND = 6
"""Best configurations whose neighbours join the pool of a space too large to hold, and then those of the best again."""
ROUNDS = 5
"""Times at most that this is done before a choice."""


class Growth:
    """Lets a pool grow around what turns out to be good.

    Args:
        neighbours: of a point, those that differ from it in one value.
        taken: places that were asked or told, which stay what they are.
    """

    def __init__(
        self,
        pool: Pool,
        neighbours: Callable[[Point], Iterable[Point]],
        taken: Callable[[], Collection[int]],
    ) -> None:
        self._pool, self._neighbours, self._taken = pool, neighbours, taken
        self._around: set[int] = set()

    @property
    def rounds(self) -> range:
        """The rounds of growth before a choice: none where the pool holds the whole space."""
        return range(0 if self._pool.whole else ROUNDS)

    def took_in_around(self, mean: Vector) -> bool:
        """Add the neighbours of the best configurations by a mean; whether any were new."""
        best = set(best_of_each(mean, self._pool.against, AROUND).tolist()) - self._around
        given_up = self._given_up(mean)
        for place in sorted(best):
            self._pool.add(self._neighbours(self._pool.points[place]), given_up)
        self._around |= best
        return bool(best)

    def _given_up(self, mean: Vector) -> Iterator[int]:
        """Yield the places that a full pool may give to others: never asked, and worst first."""
        kept = {*best_of_each(mean, self._pool.against[: len(mean)], LARGEST // 2).tolist(), *self._taken()}
        for place in np.argsort(mean).tolist():
            if place not in kept:
                self._around.discard(place)
                yield place


AHEAD = 200
"""Configurations that are reckoned to be the best after a run, or on the front: the highest by mean + 2 sd."""
LIKELY = 3_000
"""Configurations of which it is worked out what a run is worth: those with the highest mean + 2 sd."""
LARGEST_LOG = 100.0
"""Rates beyond e^100 GFLOPS are nobody's, but no reason to divide by zero."""


@dataclass(frozen=True)
class Belief:
    """The posterior of a process over a pool, or over some configurations.

    Attributes:
        kinds: the rungs by their numbers in the process.
        codes: of the whole pool.
        mean, sd: of the logarithm of a full run's rate in GFLOPS, shape (configurations,).
        likely: the configurations whose runs are weighed, and `likely_codes` theirs.
        ahead: the configurations that may be best, and `ahead_codes` theirs.
        alike: prior covariance of the effects of these with those of the likely, shape (ahead, likely).
    """

    process: Process
    pool: Pool
    kinds: Sequence[Rung]
    codes: Codes
    mean: Vector
    sd: Vector
    likely: NDArray[np.intp]
    likely_codes: Codes
    ahead: NDArray[np.intp]
    ahead_codes: Codes
    alike: Matrix

    @classmethod
    def over(cls, process: Process, pool: Pool, kinds: Sequence[Rung], beaten: Sequence[int] = ()) -> "Belief":
        """The belief of a process about a whole pool.

        Args:
            beaten: places that were measured and found slower than others, though the process need not know it.
        """
        codes = pool.codes
        mean, sd = process.believed(codes, pool.modelled(FULL))
        highest = mean + 2 * sd
        highest[list(beaten)] = -np.inf
        likely, ahead = (best_of_each(highest, pool.against, count) for count in (LIKELY, AHEAD))
        likely.sort()
        likely_codes, ahead_codes = codes[likely], codes[ahead]
        alike = process.alike(ahead_codes, likely_codes)
        return cls(process, pool, kinds, codes, mean, sd, likely, likely_codes, ahead, ahead_codes, alike)

    def fantasise(self, rows: PointRows, rung: Rung) -> "Belief":
        """The belief after one more run of each of these, as far as it is known before the runs.

        The means stay; `sd` and `ahead` are left as they were.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        at_rung = self.pool.modelled_of(rows, rung)
        return replace(self, process=self.process.fantasise(rows.codes, at_rung, self.kinds.index(rung)))

    def worth(self, rung: Rung) -> Vector:
        """The worth of one more run of each configuration of the pool; 0 where it is not likely enough to be best.

        Returns:
            As `worth_of`, shape (configurations,).
        """
        worth = np.zeros(len(self.mean))
        worth[self.likely] = self._worth(self.likely_codes, self.pool.modelled(rung).of(self.likely), rung, self.alike)
        return worth

    def worth_of(self, rows: PointRows, rung: Rung) -> Vector:
        """The expected gain in the logarithm of the best rate, or of one on the front, by one more run of each.

        Returns:
            Shape (rows,).
        """
        alike = self.process.alike(self.ahead_codes, rows.codes)
        return self._worth(rows.codes, self.pool.modelled_of(rows, rung), rung, alike)

    @property
    def full_s(self) -> Vector:
        """Seconds HPL is expected to take for a full run of each configuration of the pool, shape (configurations,)."""
        return _time_s(self.mean, self.pool.shapes, FULL)

    def time_s_of(self, rows: PointRows, rung: Rung) -> Vector:
        """Seconds HPL is expected to take for runs of other configurations on a rung, shape (rows,)."""
        logs = self.process.expected(rows.codes, self.pool.modelled_of(rows, rung), self.kinds.index(rung))
        return _time_s(logs, rows.shapes, rung)

    def _worth(self, codes: Codes, at_rung: LinearModel, rung: Rung, alike: Matrix) -> Vector:
        full = self.pool.modelled(FULL).of(self.ahead)
        kind = self.kinds.index(rung)
        swayed = self.process.mean_shift_sd(self.ahead_codes, full, codes, at_rung, kind, alike)
        return knowledge_gradient(self.mean[self.ahead], swayed, self.pool.against[self.ahead])


def _time_s(logs: Vector, shapes: Shapes, rung: Rung) -> Vector:
    """Seconds of runs on a rung, by the logarithms of their rates."""
    flops = np.array([flop_count(int(N * rung.size)) for N in shapes.N[:, 0]])
    gflops = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)) / shapes.worth[:, 0]
    return np.asarray(flops / gflops / 1e9)
