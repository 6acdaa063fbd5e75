"""A study whose trials are simulated, several at a time, and whose clock is the simulator's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine, EngineContext
from ..engines.outcomes import Ladder
from ..engines.probes import Probes
from ..engines.registry import make_engine
from ..study.confirmation import FINALISTS, Confirmation
from ..study.ledger import Ledger
from ..study.names import is_compared
from ..study.objective import Objective
from ..study.search.budget_rule import BudgetRule, FailuresInARow
from ..study.search.loop import Search, replay_records
from ..study.search.trials import StudyTrials
from ..study.session import StudySession
from ..trial.ladder import rung_of


@dataclass
class VirtualRunTime:
    """What a full run takes by a told clock: the longest so far, or a guess from the smaller ones.

    Attributes:
        longest_s, guessed_s: 0 while nothing has told.
    """

    longest_s: float = 0.0
    guessed_s: float = 0.0

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""
        return self.longest_s or self.guessed_s

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        cost_s = record.cost_s or 0.0
        if is_compared(record):
            self.longest_s = max(self.longest_s, cost_s)
        elif record.ranked:
            self.guessed_s = max(self.guessed_s, cost_s / rung_of(record).operations)


@dataclass(frozen=True, kw_only=True)
class VirtualStudy:
    """A session of a study on a virtual cluster or on a table.

    Attributes:
        probes: what is known before the first run.
        ladder: how much of a full run the engine may ask for.
        earlier: what the searches of earlier sessions asked.
    """

    session: StudySession
    ledger: Ledger
    trials: StudyTrials[Any]
    probes: Probes
    run_time: VirtualRunTime
    failures: FailuresInARow
    ladder: Ladder
    earlier: Sequence[TrialRecord] = ()

    @property
    def study(self) -> str:
        """Its name."""
        return self.session.study

    @property
    def space(self) -> SearchSpace:
        """What is searched."""
        return self.session.space

    @property
    def stopped(self) -> bool:
        """Whether the user wants nothing more to be started."""
        return self.session.stopped

    def ranking(self) -> Sequence[Ranked]:
        """The study's configurations, best first."""
        return self.session.ranking()

    def engine(self, name: str, seed: int, points: int | None = None) -> Engine:
        """A new engine that is told what is known of the machine, and what a GFLOPS of a configuration is worth."""
        objective = self.session.objective
        known = EngineContext(points=points, probes=self.probes, worth=self._worth_by(objective))
        if objective.against:
            known = replace(known, against=self._worth_by(objective.against))
        return make_engine(name, self.space, seed, known)

    def _worth_by(self, objective: Objective) -> Callable[[Point], float]:
        return lambda point: objective.worth(self.space.complete(point), 1.0)

    def search(self, engine: Engine, repeats: int, to_confirm: int = 0) -> str:
        """Ask and simulate until budget, engine or user end it.

        Args:
            repeats: how often each configuration is run in full.
            to_confirm: further runs of each finalist that the budget must still have room for.

        Returns:
            The sentence why it ended.
        """
        session = self.session
        with session.context.stop.preparing():
            replay_records(engine, self.earlier, session.objective)
        by_table = self.trials.most_runs is not None
        reserved = max(FINALISTS, session.largest_front) * to_confirm if self.trials.noisy and not by_table else 0
        return Search(
            session=session,
            ledger=self.ledger,
            trials=self.trials,
            rule=BudgetRule(
                meter=session.meter,
                # Runs that confirm the finalists that there are then; none where only trials are limited.
                reserved_runs=(lambda: self._confirmation.runs_due(to_confirm))
                if by_table and self.trials.noisy and session.meter.budget.timed
                else reserved,
                virtual_clock=True,
                exact=not self.trials.noisy,
                wanted_runs=FINALISTS + reserved,
                failures=self.failures,
            ),
            run_time=self.run_time,
            ladder=self.ladder,
            repeats=repeats,
        ).run(engine)

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """Run the finalists so often again where runs differ, and rank anew."""
        return self._confirmation.run(repeats if self.trials.noisy else 0)

    @property
    def _confirmation(self) -> Confirmation:
        return Confirmation(self.trials, self.run_time)

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Simulate complete points, several at a time; those that were not simulated before."""
        known = {record.key for record in self.session.records() if record.ranked}
        new = {key: point for point in points if (key := self.space.key(point)) not in known}
        self.trials.launch_each(list(new.values()), kind)
