"""The best of a study are run again before one of them is called the winner."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from results.record import Kind
from results.stats.ranking import Ranked, rank

from ..events import PhaseStarted
from ..words import counted
from .names import RANKED
from .rounds import Competitor, End, Rounds, SteadyLoad
from .search.search_limits import RunTime
from .search.trials import StudyTrials
from .shootout import with_rivals

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""


@dataclass(frozen=True)
class Confirmation:
    """Repeats the finalists of a study as far as its budget allows.

    Attributes:
        trials: runs them.
        each_blas: libraries are compared, so that the best of each is confirmed.
        load: of the machine, as the search hears of it; None where nobody else does.
    """

    trials: StudyTrials[Any]
    run_time: RunTime
    each_blas: bool = False
    load: SteadyLoad | None = None

    def run(self, repeats: int, kind: Kind = Kind.CONFIRMATION) -> Sequence[Ranked]:
        """Run each of the best so often again, interleaved so that drift hits all alike, and rank anew.

        What was disturbed runs again at once where the runs that are left still fit the budget.
        """
        session, full_s = self.trials.session, self.run_time.full_s
        ranking = session.ranking()
        finalists = session.objective.finalists(ranking, FINALISTS)
        if self.each_blas:
            finalists = with_rivals(session.objective, finalists, ranking)
        competitors = {
            one.key: Competitor.of(one.key, partial(self.trials.trial, one.params, kind), full_s) for one in finalists
        }
        due = self._due(finalists, repeats)
        played = Rounds(
            competitors=list(competitors.values()),
            order=lambda *_: [competitors[one.key] for one in due],
            ends=lambda played, _: "" if played.begun or not due else None,
            meter=session.meter,
            context=session.context,
            phase=PhaseStarted("confirmation", len(due)),
            load=self.load or SteadyLoad(session.say),
            apart=True,
            best_gflops=ranking[0].expected_gflops if ranking else None,
        ).play()
        if played.end in {End.TIME, End.LOAD}:
            planned = counted(len(due), "run")
            done = f"after {played.turns} of {planned}" if played.turns else f"before the first of {planned}"
            session.say(f"The confirmation ends {done}: {played.why}.")
        return session.ranking()

    def runs_due(self, repeats: int) -> int:
        """How many runs would confirm the finalists that there are now."""
        session = self.trials.session
        return len(self._due(session.objective.finalists(rank(session.records(RANKED)), FINALISTS), repeats))

    def _due(self, finalists: Sequence[Ranked], repeats: int) -> list[Ranked]:
        """Which of the finalists run, in their order: each as often as that tells something new."""
        ran, most = Counter(record.key for record in self.trials.session.records(RANKED)), self.trials.most_runs
        turns = product(range(repeats), finalists)
        return [one for turn, one in turns if most is None or ran[one.key] + turn < most(one.params)]
