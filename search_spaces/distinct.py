"""How many points of a space HPL can tell apart: counted where that is quick, else estimated from some of them.

Of points that HPL cannot tell apart each counts as an equal part of one. So the number is that of all points, times the
mean of 1 / (points that HPL cannot tell from it) over points drawn by chance.
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

from hpl.canonical import MERGED
from hpl.params import Scalar

from .dimension import Point
from .space import SearchSpace

COUNTED = 10_000
"""Spaces up to so many points are counted, which takes half a second."""
LOOKED_AT = 10_000
"""Points that are looked at for an estimate, which takes as long."""
LEAST_DRAWN = 30
JOINT = frozenset({"SWAP", "swap_threshold"})
"""Another SWAP is the same with some thresholds only, so what may stand for one of them depends on the other."""


@dataclass(frozen=True)
class Distinct:
    """Points that HPL can tell apart.

    Attributes:
        points: how many.
        error: standard error of an estimate; 0 where they were counted.
    """

    points: int
    error: int = 0

    def __str__(self) -> str:
        if not self.error:
            return f"{self.points:,}"
        step = 10 ** int(math.log10(2 * self.error))
        return f"about {round(self.points / step) * step:,} (± {round(2 * self.error / step) * step:,})"


def distinct(space: SearchSpace) -> Distinct:
    """How many points of a space HPL can tell apart; the same each time."""
    if len(space) <= COUNTED:
        return Distinct(len({space.key(point) for point in space}))
    alike, chance = Alike(space), random.Random(0)  # noqa: S311 - not for secrets
    shares: list[float] = []
    while alike.looked_at < LOOKED_AT or len(shares) < LEAST_DRAWN:
        shares.append(1 / alike.count(space.point(chance.randrange(len(space)))))
    error = max(stdev(shares) / math.sqrt(len(shares)), fmean(shares) / len(shares))
    return Distinct(round(len(space) * fmean(shares)), math.ceil(len(space) * error))


class Alike:
    """Which points of a space HPL cannot tell apart: all combinations of what may stand for one another in each block.

    Attributes:
        looked_at: points whose keys were compared so far.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.looked_at = 0
        self._space = space
        self._blocks = [_Block(parts) for parts in _joined(space.blocks)]

    def count(self, point: Point) -> int:
        """Points that HPL cannot tell from a legal one, itself included."""
        key, found = self._space.key(point), 1
        for block in self._blocks:
            others = {name: value for name, value in point.items() if name not in block.names}
            parts = block.like(point)
            found *= sum(self._space.key({**others, **part}) == key for part in parts)
            self.looked_at += len(parts)
        return found


class _Block:
    """The partial points of a block, sorted by what HPL can tell apart always."""

    def __init__(self, parts: Sequence[Point]) -> None:
        self.names = _names(parts)
        self._told_apart = sorted(self.names - MERGED)
        self._parts: dict[tuple[Scalar | None, ...], list[Point]] = {}
        for part in parts:
            self._parts.setdefault(self._sort(part), []).append(part)

    def like(self, point: Point) -> Sequence[Point]:
        """Those that may be what a point has of this block, as far as that goes."""
        return self._parts[self._sort(point)]

    def _sort(self, point: Point) -> tuple[Scalar | None, ...]:
        return tuple(map(point.get, self._told_apart))


def _joined(blocks: Iterable[Sequence[Point]]) -> list[Sequence[Point]]:
    """The blocks that have something HPL may not tell apart, those with JOINT as one."""
    apart: list[Sequence[Point]] = []
    joint: list[Sequence[Point]] = []
    for parts in blocks:
        names = _names(parts)
        if names & MERGED:
            (joint if names & JOINT else apart).append(parts)
    together = [{name: value for part in several for name, value in part.items()} for several in product(*joint)]
    return [*apart, together]


def _names(parts: Iterable[Point]) -> set[str]:
    return set[str]().union(*parts)
