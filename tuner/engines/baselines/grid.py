"""Every legal point, or an even subset."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar
from search_spaces.space import SearchSpace

from ...errors import TunerError, UsageError
from ..base import NOTHING_KNOWN, Engine, EngineContext

LARGEST = 100_000
"""A grid beyond this is a mistake: even at a second a run it takes more than a day."""
BEGINNING = 1_000
"""The first points of a whole grid are an even subset: to tell all points of a large one apart takes ten seconds."""
SMALLEST_POOL = 1_000
LARGEST_POOL = 20_000
"""A subset is chosen from so many points: three for each that is wanted, within these bounds."""
TRIES_PER_POINT = 50
"""Draws for each point of the pool; after that HPL cannot tell most points of the space apart."""


class Grid(Engine):
    """Asks every legal point or an even subset; whatever the budget allows of it is even too.

    Raises:
        TunerError: the space is too large to be measured whole and no size was given.
    """

    wants_every_rate = True

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        size = context.points
        if size is not None and size < 1:
            raise UsageError("expected a whole number above zero", field="points", given=size)
        if size is None and len(space) > LARGEST:
            raise TunerError(
                f"the space {space.name} has {len(space):,} valid combinations, too many for a whole grid: "
                "give ⟦points⟧ for a coarse one, narrow it with ⟦set⟧, or take ⟦engine⟧ bayes"
            )
        self._whole = size is None
        self._points = self._subset(size) if size else chain(self._subset(BEGINNING), self._subset(len(space)))

    def _propose(self) -> dict[str, Scalar] | None:
        point = self.first_unseen(self._points)
        if point is None:
            self.nothing_left = self._all_tried()
        return point

    def _all_tried(self) -> str:
        """Say that all were tried; combinations that HPL runs alike are tried once."""
        count = len(self.space)
        different = len(self._pool(count)) if self._whole else count
        if different == count:
            return "all combinations of the grid were tried"
        return f"all {different} combinations that HPL tells apart were tried; the grid has {count}"

    def unasked(self) -> int:
        """Count the configurations of the grid that are left."""
        if self._whole:
            return sum(not self.seen(point) for point in self._pool(len(self.space)))
        left = list(self._points)
        self._points = iter(left)
        return sum(not self.seen(point) for point in left)

    def _subset(self, size: int) -> Iterator[dict[str, Scalar]]:
        pool = self._pool(min(max(SMALLEST_POOL, 3 * size), max(LARGEST_POOL, size)))
        for place in evenly(self._codes(pool), min(size, len(pool))):
            yield pool[place]

    def _pool(self, size: int) -> Sequence[dict[str, Scalar]]:
        """Points that HPL can tell apart: all of a small space, drawn by chance from a large one."""
        if len(self.space) <= size:
            return list({self.key(point): dict(point) for point in self.space}.values())
        chance = random.Random(self.seed)  # noqa: S311 - not for secrets
        found: dict[str, dict[str, Scalar]] = {}
        for _ in range(size * TRIES_PER_POINT):
            if len(found) == size:
                break
            point = self.space.point(chance.randrange(len(self.space)))
            found.setdefault(self.key(point), point)
        return list(found.values())

    def _codes(self, pool: Sequence[Mapping[str, Scalar]]) -> NDArray[np.int16]:
        """The number of each point's value of each parameter; -1 where the point has none."""
        rows = [
            [parameter.values.index(point[name]) if name in point else -1 for name, parameter in varying]
            for varying in [list(self.space.varying.items())]
            for point in pool
        ]
        return np.array(rows, dtype=np.int16).reshape(len(pool), -1)


def evenly(codes: NDArray[np.int16], size: int) -> Iterator[int]:
    """Numbers of rows whose values, and pairs of values, occur as equally often as can be, one after the other.

    Each next row is the one that adds least to J2 = sum over pairs of rows of (sum of levels of the columns in which
    they agree)^2, which is smallest for orthogonal arrays: H. Xu, "An algorithm for constructing orthogonal and
    nearly-orthogonal arrays with mixed levels and small runs", Technometrics 44 (2002).
    """
    levels = np.array([len(np.unique(column)) for column in codes.T], dtype=np.float64)
    cost = np.zeros(len(codes))
    for _ in range(size):
        chosen = int(np.argmin(cost))
        yield chosen
        cost += ((codes == codes[chosen]) @ levels) ** 2
        cost[chosen] = np.inf
