"""Where the trials of a search run: as the scheduler sees it, and on one or several parts of real machines."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Lock
from types import TracebackType
from typing import Protocol, Self

from hpl.params import Scalar
from results.record import Invalidity, Kind, StudyNotes, TrialRecord, TrialState
from runners.errors import RunnerError
from search_spaces.parameters.dimension import Point

from ...engines.outcomes import FULL, Fidelity, Question, Rung
from ...errors import TunerError
from ...trial.evaluate import Evaluator
from ...trial.judge import Failure
from ...trial.ladder import at_rung, part_at
from ...trial.launching import Launching, LaunchLimits, LaunchOutcome, PlannedTrial, TrialBook, planned, reject
from ...trial.plan import TrialPlan, label, plan
from ...trial.records import not_reached, started
from ...trial.varying_label import varying_label
from ..names import KINDS, resume_command
from ..session import StudyContext, StudySession
from .search_limits import RunTimeEstimate, SearchLimits


@dataclass
class UnavailableParts:
    """Parameters with values that together no node can have, as trials of the study found; from any thread."""

    context: StudyContext
    study: str
    _lock: Lock = field(default_factory=Lock, init=False)
    _parts: Sequence[Point] | None = field(default=None, init=False)

    @property
    def parts(self) -> Sequence[Point]:
        """All that is known."""
        if self._parts is None:
            self._parts = self.context.store.study(self.study).notes.cannot_have
        return self._parts

    def rule_out(self, part: Point) -> None:
        """Ask for no configuration any more that has all these values, in later sessions neither.

        Args:
            part: parameters with their values; nothing happens where there are none.
        """
        with self._lock:
            if not part or part in self.parts:
                return
            self._parts = [*self.parts, part]
            self.context.store.note(self.study, lambda notes: _without(notes, part))
        self.context.say(f"{told(part)} cannot be had on these nodes: the search leaves it out from now on.")


def _without(notes: StudyNotes, part: Point) -> StudyNotes:
    known = notes.cannot_have
    return notes if part in known else replace(notes, cannot_have=(*known, dict(part)))


def told(part: Point) -> str:
    """Parameters with their values, in words."""
    return " with ".join(f"{name} = {value}" for name, value in part.items())


MOST = 3
"""Launches in a row that may fail alike."""
_FIGURES = re.compile(r"\d+")


class LaunchBreaker:
    """Counts the launches in a row that failed alike before HPL began."""

    def __init__(self, session: StudySession) -> None:
        self._session = session
        self._watches = not any(name == "mpi" or "." in name for name in session.space.varying)
        """A value of MPI or of a setting alone may prevent HPL's begin."""
        self._last = ""
        self._count = 0

    def note(self, done: LaunchOutcome) -> None:
        """Note what came of a launch.

        Raises:
            TunerError: it is one of too many; the sentence says how to go on.
        """
        reasons = [record.reason for record in done.in_order if record.invalidity is Invalidity.RUNTIME]
        failed = all(record.state is TrialState.FAILED for record in done.in_order)
        if done.began or not failed or not reasons or not self._watches:
            self._last, self._count = "", 0
            return
        alike = _FIGURES.sub("#", reasons[-1])
        self._count = self._count + 1 if alike == self._last else 1
        self._last = alike
        if self._count >= MOST:
            raise TunerError(
                f"{MOST} launches in a row failed alike before HPL began ({reasons[-1]}), so that the machine may be "
                "to blame and not the configurations: "
                f"{resume_command(self._session.study, self._session.context.store)} goes on once it is mended"
            )


@dataclass(frozen=True)
class LaunchWorker:
    """A place where a study runs one launch after another: this machine, or some nodes of a cluster.

    Attributes:
        book: where its trials are recorded.
        limits: what its launches may take, and must reach.
        evaluator: what runs plans here.
        breaker: ends a search whose launches all fail alike; None for none.
    """

    session: StudySession
    book: TrialBook
    limits: SearchLimits
    unavailable: UnavailableParts
    evaluator: Evaluator
    breaker: LaunchBreaker | None = None

    def expecting(self, expected_s: float | None) -> "LaunchWorker":
        """The same worker before the search, when a run should take so long; None where that is not known."""
        return replace(self, limits=replace(self.limits, run_time=RunTimeEstimate(expected_s)))

    def measure(self, batch: Sequence[Question], repeats: int) -> list[list[TrialRecord]]:
        """Run what an engine asks, full runs several times; what fails or is given up is not repeated.

        Raises:
            TunerError, results.errors.ResultsError: as `launch`.
        """
        rung = batch[0].rung
        kind = KINDS[rung.fidelity]
        points = [self.session.space.measured(question.params) for question in batch]
        rounds: list[list[TrialRecord]] = []
        for _ in range(repeats if rung == FULL else 1):
            rounds.append(self.launch(points, kind, rung))
            done = all(record.state is TrialState.COMPLETE and record.kind is kind for record in rounds[-1])
            if self.session.stopped or not done:
                break
        return rounds

    def trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        Args:
            rung: how much of it to run.

        Raises:
            NodesLostError, TunerError, results.errors.ResultsError: as `launch`.
        """
        return self.launch([params], kind, rung)[0]

    def launch(self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
        """Run complete points, in one launch if one HPL.dat holds them, and commit a record of each in their order.

        Where a run of a launch fails, those before it keep their results, and each after it gets a launch of its own.
        Where a run died with a node, its launch is run once more as soon as it answers again; at once where somebody
        else changed the network meanwhile. What another process of this study began in the same moment is left to it,
        and so is the budget's last trial: the record here is cancelled and has no number.

        Raises:
            NodesLostError: a node that died with a run does not come back.
            RunnerError: what befell the launch is no fault of its configuration or library, and does not end.
            TunerError: no run can be started here; the trials stay RUNNING. Or one launch after another fails alike.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        asked, records = dict[int, PlannedTrial[TrialPlan]](), dict[int, TrialRecord]()
        for place, params in enumerate(points):
            new = started(self.session.study, params, kind, self.session.space.key(params), self.session.number)
            new, found = replace(new, part=part_at(params, rung)), self._plan(params, rung)
            if isinstance(found, Failure):
                records[place] = reject(self.book, new, found)
            else:
                asked[place] = PlannedTrial(new, found, label(found, varying_label(params, self.session.space.varying)))
        done = self._run(asked, rung) if asked else LaunchOutcome({})
        done = replace(done, records={**records, **done.records})
        self._require_that_it_goes_on(done)
        return done.in_order

    @property
    def launching(self) -> Launching:
        """Launches here, and repeats while the budget lasts."""
        return Launching(
            evaluator=self.evaluator,
            book=self.book,
            listener=self.session.context.listener,
            stop=self.session.context.stop,
            clock=self.session.meter.clock,
            out_of_time=lambda needed_s: self.session.meter.out_of_time(needed_s) is not None,
        )

    def _run(self, asked: Mapping[int, PlannedTrial[TrialPlan]], rung: Rung) -> LaunchOutcome:
        """Run what shares a launch, and what HPL did not come to again alone; the last launch, and all records."""
        session, launching = self.session, self.launching
        done = launching.measure(asked, self._limits(list(asked.values()), rung))
        self.unavailable.rule_out(done.unavailable)
        records = dict(done.records)
        for place, trial in done.left.items():
            if session.stopped or done.event or session.meter.out_of_time(0.0):
                records[place] = self.book.commit(not_reached(trial.record))
                continue
            done = launching.launch({place: trial}, trial.plan, self._limits([trial], rung))
            self.unavailable.rule_out(done.unavailable)
            records |= done.records
        return replace(done, records=records)

    def _limits(self, trials: Sequence[PlannedTrial[TrialPlan]], rung: Rung) -> LaunchLimits:
        first = trials[0].record
        may_end = first.kind is Kind.SEARCH and len(trials) == 1
        return self.limits.of_launch(rung, len(trials), first.key if may_end else None)

    def _require_that_it_goes_on(self, done: LaunchOutcome) -> None:
        """Make sure that the study can go on after a launch.

        Raises:
            NodesLostError, RunnerError, TunerError: as `launch`.
        """
        done.require_nodes()
        if done.event and not self.session.stopped and not self.session.meter.out_of_time(0.0):
            raise RunnerError(
                f"{done.why}: {resume_command(self.session.study, self.session.context.store)} goes on once that is "
                "mended"
            )
        if self.breaker is not None:
            self.breaker.note(done)

    def _plan(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan | Failure:
        asked = planned(plan, at_rung(params, rung), self.evaluator.site)
        if isinstance(asked, Failure) or rung.fidelity is not Fidelity.PREFIX:
            return asked
        return replace(asked, stop_at=rung.part)


Batch = Sequence[Question]
"""Questions on one rung; where there are several they may share a launch."""
Ended = tuple[Batch, Sequence[TrialRecord]]
"""A batch, and a record of each of its questions."""


class Workers(Protocol):
    """All places where a study runs trials at the same time; used in a `with` block."""

    @property
    def free(self) -> bool:
        """Whether another batch may be submitted."""

    @property
    def under_way(self) -> Batch:
        """What runs now, oldest first; a question that is repeated may stand there for each repeat."""

    @property
    def share_launches(self) -> bool:
        """Whether a batch may have several questions."""

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Begin to measure a batch, full runs several times, and return what has ended at once."""

    def wait(self) -> Sequence[Ended]:
        """Wait until something that runs has ended, and return it; nothing where nothing runs."""

    def __enter__(self) -> Self:
        """Begin to work."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what still runs."""


@dataclass
class LaunchWorkers:
    """Workers on real machines: one in this thread, several in a thread each."""

    idle: deque[LaunchWorker]
    share_launches: bool = field(default=True, init=False)
    _executor: Executor | None = field(init=False)
    _running: dict[Future[list[list[TrialRecord]]], tuple[Batch, LaunchWorker]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._executor = ThreadPoolExecutor(len(self.idle)) if len(self.idle) > 1 else None

    @property
    def free(self) -> bool:
        """Whether a worker has nothing to do."""
        return bool(self.idle)

    @property
    def under_way(self) -> Batch:
        """What runs now, oldest first."""
        return [question for batch, _ in self._running.values() for question in batch]

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Give a batch to a worker that has nothing to do; the only worker measures it at once.

        Raises:
            TunerError, results.errors.ResultsError: as `LaunchWorker.measure`.
        """
        if self._executor is None:
            return [(batch, records) for records in self.idle[0].measure(batch, repeats)]
        worker = self.idle.popleft()
        self._running[self._executor.submit(worker.measure, batch, repeats)] = (batch, worker)
        return ()

    def wait(self) -> Sequence[Ended]:
        """Wait for the first worker that is done; each round of its batch counts.

        Raises:
            TunerError, results.errors.ResultsError: as `LaunchWorker.measure`.
        """
        ended: list[Ended] = []
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            batch, worker = self._running.pop(future)
            self.idle.append(worker)
            ended += [(batch, records) for records in future.result()]
        return ended

    def __enter__(self) -> Self:
        """Begin to work."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what still runs."""
        if self._executor is not None:
            self._executor.shutdown()
