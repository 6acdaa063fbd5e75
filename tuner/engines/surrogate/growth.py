"""A pool that holds a sample of its space takes in the neighbours of what looks best."""

from collections.abc import Callable, Iterable

from search_spaces.dimension import Point

from .front import best_of_each
from .pool import Pool
from .scales import Vector

AROUND = 6
"""Best configurations whose neighbours join the pool of a space too large to hold, and then those of the best again."""
ROUNDS = 5
"""Times at most that this is done before a choice."""


class Growth:
    """Lets a pool grow around what turns out to be good.

    Args:
        neighbours: of a point, those that differ from it in one value.
    """

    def __init__(self, pool: Pool, neighbours: Callable[[Point], Iterable[Point]]) -> None:
        self._pool, self._neighbours = pool, neighbours
        self._around: set[int] = set()

    @property
    def rounds(self) -> range:
        """Times at most that neighbours join the pool before a choice: none where it holds the whole space."""
        return range(0 if self._pool.whole else ROUNDS)

    def took_in_around(self, mean: Vector) -> bool:
        """Whether there were configurations among the best by a mean whose neighbours had not joined the pool yet."""
        best = set(best_of_each(mean, self._pool.against, AROUND).tolist()) - self._around
        for place in sorted(best):
            self._pool.add(self._neighbours(self._pool.points[place]))
        self._around |= best
        return bool(best)
