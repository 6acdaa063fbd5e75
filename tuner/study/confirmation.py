"""The best of a study are run again before one of them is called the winner."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from results.record import TrialRecord
from results.stats.ranking import Ranked, rank
from search_spaces.parameters.dimension import Point

from ..events import PhaseStarted
from ..words import counted
from .again import SteadyLoad, run_again
from .names import RANKED
from .search.search_limits import RunTime
from .session import StudySession
from .shootout import with_rivals

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""


@dataclass(frozen=True)
class Confirmation:
    """Repeats the finalists of a study as far as its budget allows.

    Attributes:
        each_blas: libraries are compared, so that the best of each is confirmed.
        most_runs: how often a complete point can be run and tell something new; None where there is no end.
        load: of the machine, as the search hears of it; None where nobody else does.
    """

    session: StudySession
    run_time: RunTime
    each_blas: bool = False
    most_runs: Callable[[Point], int] | None = None
    load: SteadyLoad | None = None

    def run(self, repeats: int, trial: Callable[[Point, int], TrialRecord | None]) -> Sequence[Ranked]:
        """Run each of the best so often again, interleaved so that drift hits all alike, and rank anew.

        What was disturbed runs again at once where the runs that are left still fit the budget.

        Args:
            trial: runs a complete point that ran so often before; the record, where there is one already.
        """
        session = self.session
        ranking = session.ranking()
        finalists = session.objective.finalists(ranking, FINALISTS)
        if self.each_blas:
            finalists = with_rivals(session.objective, finalists, ranking)
        due = self._due(finalists, repeats)
        if due and not self._out_of_time():
            session.context.listener(PhaseStarted("confirmation", len(due)))
        load = self.load or SteadyLoad(session.say)
        for place, (params, before) in enumerate(due):
            if session.stopped:
                break
            if why := self._out_of_time():
                planned = counted(len(due), "run")
                done = f"after {place} of {planned}" if place else f"before the first of {planned}"
                session.say(f"The confirmation ends {done}: {why}.")
                break
            last = self._run(partial(trial, params, before), len(due) - place, ranking[0].expected_gflops, load)
            if last is not None and place + 1 < len(due) and load.lasts(last):
                after = f"after {place + 1} of {counted(len(due), 'run')}"
                session.say(f"The confirmation ends {after}: on a loaded machine more runs would confirm luck.")
                break
        return session.ranking()

    def _run(
        self, trial: Callable[[], TrialRecord | None], left: int, best_gflops: float, load: SteadyLoad
    ) -> TrialRecord | None:
        """Run a point, and again where it was disturbed, can still win, and as many as are left fit the budget."""
        record = trial()
        fits = lambda: not self.session.stopped and not self._out_of_time(left)  # noqa: E731
        return record and run_again(record, trial, fits, load, best_gflops)

    def runs_due(self, repeats: int) -> int:
        """How many runs would confirm the finalists that there are now."""
        ranking = rank(self.session.records(RANKED))
        return len(self._due(self.session.objective.finalists(ranking, FINALISTS), repeats))

    def _due(self, finalists: Sequence[Ranked], repeats: int) -> list[tuple[Point, int]]:
        """The points to run again in their order, each with how often it ran before."""
        ran = Counter(record.key for record in self.session.records(RANKED))
        again = [(one.params, ran[one.key] + turn) for turn, one in product(range(repeats), finalists)]
        return again if self.most_runs is None else [run for run in again if run[1] < self.most_runs(run[0])]

    def _out_of_time(self, runs: float = 1.0) -> str | None:
        return self.session.meter.out_of_time(self.run_time.full_s, runs)
