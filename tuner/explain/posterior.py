"""Asks the model of a study for the fastest configuration, and compares rates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from search_spaces.parameters.dimension import Point

from ..engines.hpl.engine import HplEngine
from ..engines.model.pool import Pool
from ..engines.model.process import Process
from ..engines.outcomes import FULL
from ..engines.points import Codes, Matrix, Vector, neighbours

DRAWS = 60
NOT_LEGAL: tuple[float | None, float | None] = (None, None)
"""Instead of a percentage and its standard deviation."""


@dataclass(frozen=True)
class Rates:
    """Natural logarithms of the rates of full runs without noise.

    Attributes:
        mean: of each configuration, shape (configurations,).
        draws: joint ones, shape (draws, configurations): what all have in common is the same in each of them.
    """

    mean: Vector
    draws: Matrix

    @classmethod
    def of(cls, process: Process, pool: Pool, places: Sequence[int], count: int = DRAWS) -> "Rates":
        """The rates of some configurations of a pool, which may come twice.

        Raises:
            FitError: they cannot be drawn.
        """
        known, back = np.unique(np.array(places, dtype=np.intp), return_inverse=True)
        codes, full = pool.codes[known], pool.modelled(FULL).of(known)
        mean, _ = process.believed(codes, full)
        return cls(mean[back], process.draws(codes, full, count, np.random.default_rng(0))[:, back])

    def above(self, one: int, other: int) -> tuple[float, float]:
        """By how many percent the rate of one is above that of another, and the standard deviation of that."""
        drawn = 100 * np.expm1(self.draws[:, one] - self.draws[:, other])
        return 100 * float(np.expm1(self.mean[one] - self.mean[other])), float(drawn.std())


def had(pool: Pool, ran: Codes) -> NDArray[np.bool_]:
    """Tell of each configuration of a pool whether runs had each of its values, but for those that HPL ignores there.

    Args:
        ran: value numbers of the configurations that ran.
    """
    alike = [np.isin(of_pool, of_runs) for of_pool, of_runs in zip(pool.codes.T, ran.T, strict=True)]
    return np.asarray((np.array(alike).T | ~pool.active()).all(axis=1))


def climbed(
    engine: HplEngine, ran: Codes | None = None, beside: Callable[[Point], Iterable[Point]] | None = None
) -> tuple[Process, Pool, int]:
    """Climb to a configuration that the model thinks faster than all in the pool and all beside it.

    Args:
        ran: as in `had`: a configuration with a value that no run had is never the fastest; None where any may be.
        beside: the legal points that a fastest one is compared with; without, its neighbours.

    Raises:
        FitError: the runs cannot be described.
    """
    around = beside or partial(neighbours, engine.space)
    while True:
        process, pool = engine.model()
        expected = process.expected(pool.codes, pool.modelled(FULL), 0)
        best = int(np.argmax(expected if ran is None else np.where(had(pool, ran), expected, -np.inf)))
        known = len(pool)
        pool.add(around(pool.points[best]))
        if len(pool) == known:
            return process, pool, best
