"""Chooses the first runs of the engine `hpl`: its model's favourite, then what experience suggests."""

from collections.abc import Iterator

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point

from ..base import Engine
from ..fidelity import FULL, Question, Rung
from ..model.growth import Growth
from ..model.pool import Pool
from ..points import neighbours
from ..starts import starts
from .pending import PendingRuns

STARTS = 3
"""Start points that are measured before the model is asked, beside its favourite."""
AS_FAST = 0.03
"""Difference in the logarithm of the rate up to which the untaught model does not know better than experience."""


class Opening:
    """The first questions of a search.

    Args:
        engine: whose search it is.
        knows_dgemm: dgemm was timed, so that what HPL's algorithm says untaught is worth a full run.
    """

    def __init__(self, engine: Engine, pool: Pool, growth: Growth, asked: PendingRuns, *, knows_dgemm: bool) -> None:
        self._engine, self._pool, self._growth, self._asked = engine, pool, growth, asked
        self._knows_dgemm = knows_dgemm
        self._starts: Iterator[Point] = starts(engine.space)
        self._started = 0

    def question(self, rung: Rung, runs: int) -> Question | None:
        """The next of the first questions, or None when it is the model's turn.

        Args:
            rung: the cheapest, `runs` how many gave a rate so far.
        """
        return self._favourite() or self._start(rung, runs)

    def _favourite(self) -> Question | None:
        """The first full run, of what HPL's model predicts to be the fastest; only where dgemm was timed."""
        if self._asked or not self._knows_dgemm:
            return None
        for _ in self._growth.rounds:
            if not self._growth.took_in_around(self._pool.modelled(FULL).mean):
                break
        usual, found = next(starts(self._engine.space)), dict[str, Scalar]()
        while found != (found := self._pool.fastest_modelled(usual)):
            self._pool.add(neighbours(self._engine.space, found))
        return Question(found, FULL)

    def _start(self, rung: Rung, runs: int) -> Question | None:
        """The next point that experience suggests, on the cheapest rung, while there are few runs.

        The first is measured in full where the model holds it for about as fast as its favourite.
        """
        while self._started < STARTS and runs <= STARTS:
            start = self._engine.first_unseen(self._starts)
            self._started += 1
            if start is None:
                continue
            place = self._pool.place(self._engine.key(start), start)
            asked = FULL if self._started == 1 and self._as_fast(place) else rung
            if not self._asked.took(place, asked):
                return Question(start, asked)
        return None

    def _as_fast(self, place: int) -> bool:
        rate = self._pool.modelled(FULL).mean
        return self._knows_dgemm and bool(rate[place] > rate.max() - AS_FAST)
