"""Asks the model of a study for the fastest configuration, and compares rates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from search_spaces.parameters.dimension import Point

from ..engines.hpl.engine import HplEngine
from ..engines.model.pool import Pool
from ..engines.model.process import Process
from ..engines.outcomes import FULL
from ..engines.points import Matrix, Vector, neighbours

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


def climbed(engine: HplEngine, beside: Callable[[Point], Iterable[Point]] | None = None) -> tuple[Process, Pool, int]:
    """Climb to a configuration that the model thinks faster than all in the pool and all beside it.

    Args:
        beside: the legal points that a fastest one is compared with; without, its neighbours.

    Raises:
        FitError: the runs cannot be described.
    """
    around = beside or partial(neighbours, engine.space)
    while True:
        process, pool = engine.model()
        best = int(np.argmax(process.expected(pool.codes, pool.modelled(FULL), 0)))
        known = len(pool)
        pool.add(around(pool.points[best]))
        if len(pool) == known:
            return process, pool, best
