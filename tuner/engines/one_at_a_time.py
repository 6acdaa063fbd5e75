"""One parameter after the other: how the Kronos authors worked, and most people do.

Starting from a sensible point, a parameter is swept with all others held, its best value is kept, and the next one
follows; when a whole round brings nothing more, the search ends. It misses whatever two parameters only do together.
"""

from collections.abc import Iterator

from search_spaces.dimension import Scalar

from .base import Engine
from .starts import starts

IMPORTANCE = (
    "N",
    "memory_fraction",
    "NB",
    "grid",
    "layout",
    "blas",
    "kernel",
    "BCAST",
    "DEPTH",
    "SWAP",
    "NBMIN",
    "RFACT",
)
"""The order of the Kronos article (problem and block size, grid, then libraries), then that of tuning guides."""


class OneAtATime(Engine):
    """Works out from what it was told how far it has come, so that it needs no memory of its own."""

    def _propose(self) -> dict[str, Scalar] | None:
        best = dict(next(starts(self.space)))
        if not self.seen(best):
            return best
        improved = True
        while improved:
            improved = False
            for name in self._order():
                sweep = list(self._sweep(best, name))
                unseen = self.first_unseen(sweep)
                if unseen is not None:
                    return unseen
                winner = max([best, *sweep], key=self._rate)
                if self._rate(winner) > self._rate(best):
                    best, improved = winner, True
        return None

    def _order(self) -> list[str]:
        varying = self.space.varying
        known = [name for name in IMPORTANCE if name in varying]
        return known + [name for name in varying if name not in known]

    def _sweep(self, held: dict[str, Scalar], name: str) -> Iterator[dict[str, Scalar]]:
        """The points that differ from the held one in this parameter, and in what must follow it."""
        for value in self.space.parameters[name].values:
            point = self.space.nearest({**held, name: value})
            if point.get(name) == value:
                yield point

    def _rate(self, point: dict[str, Scalar]) -> float:
        rates = [outcome.gflops or 0.0 for outcome in self.told.get(self.key(point), ())]
        return max(rates, default=0.0)
