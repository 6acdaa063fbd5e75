"""Counts the different configurations of a space, or estimates their number for a large space.

Points are equivalent if HPL runs the same instructions for them. The number of configurations is the number of points
times the mean of 1 / (number of equivalent points), estimated over random points.
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

from hpl.canonical import MERGED
from hpl.params import Scalar

from .parameters.dimension import Point
from .space import SearchSpace

COUNTED = 10_000
"""Most points of a space that are counted one by one, which takes half a second."""
LOOKED_AT = 10_000
"""Points that are compared for an estimate, which takes as long."""
LEAST_DRAWN = 30
MAY_BE_ALIKE = MERGED | {"rank_order"}
"""Parameters of which two values may be equivalent, besides those that a program ignores."""
JOINT = frozenset({"SWAP", "swap_threshold"})
"""These two are joined, because two values of SWAP are equivalent only for some thresholds."""


@dataclass(frozen=True)
class Distinct:
    """The number of different configurations in a space.

    Attributes:
        points: the number, counted or estimated.
        error: standard error of an estimate; 0 for a counted number.
    """

    points: int
    error: int = 0

    def __str__(self) -> str:
        if not self.error:
            return f"{self.points:,}"
        step = 10 ** int(math.log10(2 * self.error))
        return f"about {round(self.points / step) * step:,} (± {round(2 * self.error / step) * step:,})"


def distinct(space: SearchSpace) -> Distinct:
    """Count or estimate the different configurations of a space; the result is the same each time."""
    if len(space) <= COUNTED:
        return Distinct(len({space.key(point) for point in space}))
    alike, chance = Alike(space), random.Random(0)  # noqa: S311 - not for secrets
    shares: list[float] = []
    while alike.looked_at < LOOKED_AT or len(shares) < LEAST_DRAWN:
        shares.append(1 / alike.count(space.point(chance.randrange(len(space)))))
    error = max(stdev(shares) / math.sqrt(len(shares)), fmean(shares) / len(shares))
    return Distinct(round(len(space) * fmean(shares)), math.ceil(len(space) * error))


class Alike:
    """The equivalent points of a space: they are combinations of similar parts in each block.

    Attributes:
        looked_at: how many points have been compared so far.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.looked_at = 0
        self._space = space
        may_be_alike = MAY_BE_ALIKE.union(*(terms.ignores for terms in space.machine.all_terms))
        self._blocks = [_Block(parts, may_be_alike) for parts in _joined(space.blocks, may_be_alike)]

    def count(self, point: Point) -> int:
        """Count the points that are equivalent to a legal one, itself included."""
        key, count = self._space.key(point), 1
        for block in self._blocks:
            others = {name: value for name, value in point.items() if name not in block.names}
            parts = block.like(point)
            count *= sum(self._space.key({**others, **part}) == key for part in parts)
            self.looked_at += len(parts)
        return count


class _Block:
    """The partial points of a block, grouped by the parameters whose values are never equivalent."""

    def __init__(self, parts: Sequence[Point], may_be_alike: frozenset[str]) -> None:
        self.names = _names(parts)
        self._distinguishing = sorted(self.names - may_be_alike)
        self._parts: dict[tuple[Scalar | None, ...], list[Point]] = {}
        for part in parts:
            self._parts.setdefault(self._group_key(part), []).append(part)

    def like(self, point: Point) -> Sequence[Point]:
        """List the parts of this block that may be equivalent to the point's own part."""
        return self._parts[self._group_key(point)]

    def _group_key(self, point: Point) -> tuple[Scalar | None, ...]:
        return tuple(map(point.get, self._distinguishing))


def _joined(blocks: Iterable[Sequence[Point]], may_be_alike: frozenset[str]) -> list[Sequence[Point]]:
    """Return the blocks with possibly equivalent parts; those with JOINT are merged to one."""
    apart: list[Sequence[Point]] = []
    joint: list[Sequence[Point]] = []
    for parts in blocks:
        names = _names(parts)
        if names & may_be_alike:
            (joint if names & JOINT else apart).append(parts)
    together = [{name: value for part in several for name, value in part.items()} for several in product(*joint)]
    return [*apart, together]


def _names(parts: Iterable[Point]) -> set[str]:
    return set[str]().union(*parts)
