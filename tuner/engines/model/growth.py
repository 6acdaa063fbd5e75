"""Grows the pool of a large space by the neighbours of what looks best."""

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from search_spaces.parameters.dimension import Point

from ..arrays import Vector
from .front import best_of_each
from .pool import LARGEST, Pool

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
