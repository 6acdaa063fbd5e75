"""A study whose trials are simulated, several at a time, and whose clock is the simulator's."""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Protocol, Self

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine, EngineContext
from ..engines.outcomes import FULL, Ladder, Question, Rung
from ..engines.probes import Probes
from ..engines.registry import make_engine
from ..study.confirmation import FINALISTS, Confirmation
from ..study.ledger import Ledger
from ..study.names import KINDS, RANKED, is_compared
from ..study.objective import Objective
from ..study.search.scheduler import BudgetRule, FailuresInARow, Scheduler, replay_records
from ..study.search.workers import Batch, Ended
from ..study.session import StudySession
from ..trial.ladder import rung_of
from ..trial.launching import Queue, in_turn
from ..trial.records import started

Begin = Callable[[Question, int], TrialRecord | None]
"""Begins to simulate a question; the number says how often its batch did so. Returns the record if it ended at once."""


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


class ToldTrials(Queue[TrialRecord], Protocol):
    """Trials that no machine runs: they begin, and end in the order in which they began."""

    def begin(self, record: TrialRecord, *, rung: Rung = FULL, repeat: int = 0) -> TrialRecord | None:
        """Begin a trial that ran so often before; its record where it ended at once because it cannot run."""
        ...


@dataclass(frozen=True, kw_only=True)
class VirtualStudy:
    """A session of a study on a virtual cluster or on a table.

    Attributes:
        noisy: runs of one configuration differ: without noise none is repeated.
        probes: what is known before the first run.
        ladder: how much of a full run the engine may ask for.
        earlier: what the searches of earlier sessions asked.
        most_runs: how often a complete point can be run and tell something new; None where there is no end.
    """

    session: StudySession
    ledger: Ledger
    trials: ToldTrials
    noisy: bool
    probes: Probes
    run_time: VirtualRunTime
    failures: FailuresInARow
    ladder: Ladder
    earlier: Sequence[TrialRecord] = ()
    most_runs: Callable[[Point], int] | None = None

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
        reserved = max(FINALISTS, session.largest_front) * to_confirm if self.noisy and self.most_runs is None else 0
        scheduler = Scheduler(
            session=session,
            ledger=self.ledger,
            workers=SimulatedWorkers(self.trials, self._begin_asked, self._ran_out),
            rule=BudgetRule(
                meter=session.meter,
                # Runs that confirm the finalists that there are then; none where only trials are limited.
                reserved_runs=(lambda: self._confirmation.runs_due(to_confirm))
                if self.most_runs is not None and self.noisy and session.meter.budget.timed
                else reserved,
                virtual_clock=True,
                exact=not self.noisy,
                wanted_runs=FINALISTS + reserved,
                failures=self.failures,
            ),
            run_time=self.run_time,
            ladder=self.ladder,
            repeats=repeats,
        )
        return scheduler.search(engine)

    def _begin_asked(self, question: Question, repeat: int) -> TrialRecord | None:
        """Begin what an engine asked for; where runs differ, each run of a configuration differs from those before."""
        params, kind = self.space.measured(question.params), KINDS[question.rung.fidelity]
        kinds = RANKED if kind in RANKED else {kind}
        return self._begin(params, kind, len(self._ran(question, kinds)) if self.noisy else repeat, question.rung)

    def _ran(self, question: Question, kinds: Collection[Kind]) -> list[TrialRecord]:
        """The trials of a configuration."""
        key = self.space.key(self.space.measured(question.params))
        return [record for record in self.session.records(kinds) if record.key == key]

    def _ran_out(self, question: Question) -> TrialRecord | None:
        """The last run of a configuration where no other would tell anything new; None where one may."""
        if self.most_runs is None or question.rung != FULL:
            return None
        ran = self._ran(question, RANKED)
        if not ran or len(ran) < self.most_runs(self.space.measured(question.params)):
            return None
        self.session.say(f"The table has no further run of the configuration of trial {ran[-1].number}.", detail=True)
        return ran[-1]

    def _begin(
        self, params: Mapping[str, Scalar], kind: Kind, before: int = 0, rung: Rung = FULL
    ) -> TrialRecord | None:
        """Begin the simulation of a complete point that ran so often before; its record where it ended at once."""
        return self.trials.begin(started(self.study, params, kind, self.space.key(params)), rung=rung, repeat=before)

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """Run the finalists so often again where runs differ, and rank anew."""
        return self._confirmation.run(repeats if self.noisy else 0, self._confirm)

    @property
    def _confirmation(self) -> Confirmation:
        return Confirmation(self.session, self.run_time, most_runs=self.most_runs)

    def _confirm(self, params: Point, before: int) -> None:
        if self._begin(params, Kind.CONFIRMATION, before) is None:
            self.trials.end_oldest()

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Simulate complete points, several at a time; those that were not simulated before."""
        known = {record.key for record in self.session.records() if record.ranked}

        def begin(point: Mapping[str, Scalar]) -> None:
            if self.space.key(point) not in known and self._begin(point, kind) is None:
                known.add(self.space.key(point))

        deque(in_turn(deque(points), begin, self.trials, self.session.context.stop), maxlen=0)


@dataclass
class SimulatedWorkers:
    """Begins trials in the thread of the scheduler and ends the oldest first.

    So a study depends on its seed and the number of simulations at a time only, not on which of them was faster.
    """

    trials: ToldTrials
    begin: Begin
    ran_out: Callable[[Question], TrialRecord | None]
    share_launches: bool = field(default=False, init=False)
    _asked: deque[Question] = field(default_factory=deque, init=False)

    @property
    def free(self) -> bool:
        """Whether another simulation may start."""
        return self.trials.free

    @property
    def under_way(self) -> Batch:
        """What is simulated now, oldest first, for each repeat once."""
        return tuple(self._asked)

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Begin all repeats of a question; what cannot run, or tells nothing new, ends at once and is not repeated."""
        (question,) = batch
        for repeat in range(repeats if question.rung == FULL else 1):
            if (known := self.ran_out(question)) is not None:
                return [] if repeat else [(batch, [known])]
            ended = self.begin(question, repeat)
            if ended is not None:
                return [(batch, [ended])]
            self._asked.append(question)
        return ()

    def wait(self) -> Sequence[Ended]:
        """Wait for the simulation that began first."""
        if not self._asked:
            return ()
        return [([self._asked.popleft()], [self.trials.end_oldest()])]

    def __enter__(self) -> Self:
        """Begin to work."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave what still runs to whoever closes the simulator."""
