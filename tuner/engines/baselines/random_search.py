"""Legal points by chance: the yardstick every other engine must beat."""

import random
from collections.abc import Iterator

from hpl.params import Scalar
from search_spaces.space import SearchSpace

from ..base import Engine
from ..context import NOTHING_KNOWN, EngineContext

SHUFFLED = 200_000
"""Spaces up to this size are shuffled and gone through; larger ones are drawn from."""
DRAWS = 10_000
"""Draws in a row that were all seen before, after which a large space counts as exhausted."""


class RandomSearch(Engine):
    """Every legal point is equally likely; those that HPL cannot tell from one seen are passed over."""

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
