"""Searches one parameter after the other, as the Kronos authors and most people do.

Starting from a sensible point, a parameter is swept with all others held, its best value is kept, and the next one
follows; when a whole round brings nothing more, the search ends. It misses whatever two parameters only do together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point

from ..base import Engine
from ..points import starts, with_value

IMPORTANCE = (
    "blas",
    "kernel",
    "layout",
    "N",
    "memory_fraction",
    "NB",
    "grid",
    "BCAST",
    "DEPTH",
    "SWAP",
    "binding",
    "NBMIN",
    "NDIV",
    "PFACT",
    "swap_threshold",
    "PMAP",
    "RFACT",
)
"""Library, kernel and layout decide most (they change dgemm itself), then the weights of Dunlop, Varrette and Bouvry
(2008): NB 5, N and grid 4, the rest of HPL.dat 3 to 2; what is not named here follows in the space's order."""


@dataclass(frozen=True)
class Sweep:
    """A sweep: one parameter takes each of its values while all others stay.

    Attributes:
        name: of the parameter.
        held: the point that it began at; `points` are those with its other values, and with what must follow.
        kept: the fastest of all these by what was told so far, the held one where none is faster.
    """

    name: str
    held: Point
    points: Sequence[Point]
    kept: Point


class OneAtATime(Engine):
    """Sweeps one parameter after the other; its state follows from the outcomes alone, in whatever order they come."""

    start_at: Point | None = None
    """The legal point that the search begins at; None for the textbook's."""

    @cached_property
    def start(self) -> dict[str, Scalar]:
        """The point that the search begins at."""
        return dict(next(starts(self.space)) if self.start_at is None else self.start_at)

    def sweeps(self) -> Iterator[Sweep]:
        """Yield all sweeps by the outcomes so far, until a round brings nothing more."""
        best, improved = self.start, True
        while improved:
            improved = False
            for name in self._order:
                points = self._sweep(best, name)
                winner = max([best, *points], key=self.worth)
                yield Sweep(name, best, points, winner)
                improved |= winner is not best
                best = winner

    def _propose(self) -> dict[str, Scalar] | None:
        if not self.seen(self.start):
            return dict(self.start)
        unseen = (self.first_unseen(sweep.points) for sweep in self.sweeps())
        return next((point for point in unseen if point is not None), None)

    @cached_property
    def _order(self) -> Sequence[str]:
        varying = self.space.varying
        known = [name for name in IMPORTANCE if name in varying]
        return known + [name for name in varying if name not in known]

    @cached_property
    def _sweeps(self) -> dict[tuple[str, str], list[dict[str, Scalar]]]:
        return {}

    def _sweep(self, held: Point, name: str) -> Sequence[dict[str, Scalar]]:
        """The points that differ from the held one in this parameter, and in what must follow it."""
        place = (self.key(held), name)
        if place not in self._sweeps:
            values = self.space.parameters[name].values
            moved = (with_value(self.space, held, name, value) for value in values if value != held.get(name))
            self._sweeps[place] = [point for point in moved if point is not None]
        return self._sweeps[place]

    def worth(self, point: Point) -> float:
        """The median GFLOPS of a point; 0 of one that failed, or that did not run."""
        return self.history.median(self.key(point)) or 0.0
