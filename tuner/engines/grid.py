"""Every legal point, or an even subset."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from search_spaces.dimension import Scalar
from search_spaces.space import SearchSpace

from ..errors import TunerError
from .base import Engine, points_option

LARGEST = 100_000
"""A grid beyond this is a mistake: even at a second a run it takes more than a day."""
TRIES_PER_POINT = 50
"""Draws of the even sequence for each point of a subset; after that the rest count as points HPL cannot tell apart."""


class Grid(Engine):
    """Asks the points in the space's order; a subset in the order of a Halton sequence.

    Raises:
        TunerError: the space is too large to be measured whole and no size was given.
    """

    def __init__(self, space: SearchSpace, seed: int, options: Mapping[str, Any]) -> None:
        super().__init__(space, seed, options)
        size = points_option(options)
        if size is None and len(space) > LARGEST:
            raise TunerError(
                f"the space {space.name} has {len(space):,} legal points, too many for a whole grid: "
                "give --points for a coarse one, narrow it with --set, or take --engine bayes"
            )
        self._points = self._subset(size) if size is not None and size < len(space) else iter(space)

    def _propose(self) -> dict[str, Scalar] | None:
        return self.first_unseen(self._points)

    def _subset(self, size: int) -> Iterator[dict[str, Scalar]]:
        found: set[str] = set()
        for point in islice(self.space.spread(), size * TRIES_PER_POINT):
            if len(found) == size:
                return
            if self.key(point) not in found:
                found.add(self.key(point))
                yield point
