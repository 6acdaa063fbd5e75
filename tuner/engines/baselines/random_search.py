"""Chooses legal points at random: every other engine must beat this one."""

import random
from collections.abc import Iterator

from hpl.params import Scalar
from search_spaces.space import SearchSpace

from ..base import NOTHING_KNOWN, Engine, EngineContext

SHUFFLED = 200_000
"""Spaces up to this size are shuffled and gone through; larger ones are drawn from."""
DRAWS = 10_000
"""Draws in a row that were all seen before, after which a large space counts as exhausted."""


class RandomSearch(Engine):
    """Draws legal points with equal probability, and skips those that are the same to HPL as one it has seen."""

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        self._points = self._shuffled()

    def _propose(self) -> dict[str, Scalar] | None:
        return self.first_unseen(self._points)

    def _shuffled(self) -> Iterator[dict[str, Scalar]]:
        chance = random.Random(self.seed)  # noqa: S311 - not for secrets
        size = len(self.space)
        if size <= SHUFFLED:
            numbers = list(range(size))
            chance.shuffle(numbers)
            yield from map(self.space.point, numbers)
            return
        misses = 0
        while misses < DRAWS:
            point = self.space.point(chance.randrange(size))
            misses = misses + 1 if self.seen(point) else 0
            yield point
