"""The one way of a trial: commit that it runs, run it, judge it, commit what came of it, repeat it once if need be."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Generic, ParamSpec, Protocol, TypeVar

from hpl.errors import HplError
from hpl.params import Scalar
from hpl.programs.family import ReadyProgram
from results.record import Invalidity, TrialRecord, TrialState
from runners.base import JobStatus
from runners.errors import Mishap, RunnerError

from ..clock import Clock, RealClock
from ..errors import NodesLostError
from ..events import Listener, Notice, TrialStarted
from ..stopping import Stopping, may_wait_s
from .early_stopping import EarlyStopping
from .evaluate import Evaluator, LaunchResult, LaunchWatch
from .judge import Failure
from .observers.contract import LaunchObserver, WatchedLaunch
from .observers.progress import ProgressObserver
from .observers.registry import observers_of
from .plan import PlanError, TrialPlan, merge_plans
from .records import finished, given_up, not_reached, reached, rejected

T = TypeVar("T")
P_args = ParamSpec("P_args")
E_co = TypeVar("E_co", covariant=True)
P = TypeVar("P", bound=TrialPlan)
P_co = TypeVar("P_co", bound=TrialPlan, covariant=True)
P_contra = TypeVar("P_contra", bound=TrialPlan, contravariant=True)

NO_STUDY = ""
"""The study of a trial that only memory keeps."""
PAUSE_S = 2.0
"""Seconds between two questions to nodes that do not answer; one that refuses a connection does so at once."""


class TrialBook(Protocol):
    """Where trials are recorded: a study in a store, or memory."""

    def begin(self, record: TrialRecord) -> int | None:
        """Commit that a trial runs, and return its number; None where somebody else runs it."""

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Commit what came of a trial, and return it."""

    def folder(self, number: int) -> Path:
        """Where a trial runs."""


@dataclass
class MemoryBook:
    """Trials of no study: their records are kept as long as the process lives.

    Attributes:
        runs: folder below which they run.
        records: those that ended, by their numbers.
    """

    runs: Path
    records: dict[int, TrialRecord] = field(default_factory=dict)
    begun: int = 0

    def begin(self, record: TrialRecord) -> int:
        """Count a trial, and return its number."""
        del record
        self.begun += 1
        return self.begun

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Keep a record."""
        self.records[record.number] = record
        return record

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return self.runs / str(number)


@dataclass(frozen=True)
class PlannedTrial(Generic[P_co]):
    """A trial that is asked for, or has begun.

    Attributes:
        record: its number is 0 until it is begun in a book.
        plan: of it alone.
        label: its configuration in one line.
    """

    record: TrialRecord
    plan: P_co
    label: str = ""


Trials = Mapping[int, PlannedTrial[TrialPlan]]
"""Some of the trials that were asked for, by their place among these, in the order in which HPL runs them."""


@dataclass(frozen=True, kw_only=True)
class LaunchLimits:
    """What a launch may take, and what it must reach.

    Attributes:
        limit_s: seconds after which it is ended.
        expected_s: seconds that each of its runs will probably take; None where nobody knows.
        early_stopping: what ended runs told of how runs go on; None where no run may be ended early.
        must_reach_gflops: what its only run must be able to reach; None where it goes to its end.
    """

    limit_s: float
    expected_s: float | None = None
    early_stopping: EarlyStopping | None = None
    must_reach_gflops: float | None = None


@dataclass(frozen=True)
class LaunchOutcome:
    """What came of a launch; trials are named by their place among those that were asked for.

    Attributes:
        records: of the trials that it came to, committed, and of those that were not begun.
        left: trials that are begun, and that it did not come to.
        event: what befell it, where that leaves nothing that counts; None where its records tell of their trials.
        why: the sentence about that; else "".
        lost_nodes: nodes that were lost by it, or are back after that.
        began: whether HPL began, as far as that is known.
        unavailable: parameters of its plan that together cannot be had on these nodes, with their values.
    """

    records: Mapping[int, TrialRecord]
    left: Trials = field(default_factory=dict)
    event: Mishap | None = None
    why: str = ""
    lost_nodes: tuple[str, ...] = ()
    began: bool = True
    unavailable: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def in_order(self) -> list[TrialRecord]:
        """Its records in the order of their trials."""
        return [self.records[place] for place in sorted(self.records)]

    def require_nodes(self) -> None:
        """Make sure that no node was lost by it.

        Raises:
            NodesLostError: one was, and does not come back or was away too often.
        """
        if self.lost_nodes:
            raise NodesLostError(self.lost_nodes, self.why if self.event is Mishap.NODE_BACK else "")


@dataclass(frozen=True, kw_only=True)
class Launching:
    """A place where trials are launched, one launch after another: this machine, or some nodes of a cluster.

    Attributes:
        evaluator: what runs plans here.
        book: where trials are recorded.
        stop: after a request nothing is repeated.
        whole_file: trials are the runs of one HPL.dat, and each has the plan of all of it: the display hears of it as
            one, it goes to its end after a request to stop, and each of its runs gets a record.
    """

    evaluator: Evaluator
    book: TrialBook
    listener: Listener
    stop: Stopping
    clock: Clock = field(default_factory=RealClock)
    whole_file: bool = False

    def measure(self, asked: Trials, limits: LaunchLimits) -> LaunchOutcome:
        """Begin trials and launch them together, if one HPL.dat holds them, else the first.

        What another process of a study began in the same moment is left to it, and so is its budget's last trial: the
        record is cancelled and has no number.

        Raises:
            TunerError: no run can be started here; the trials stay RUNNING.
            results.errors.ResultsError: the records cannot be kept; the run's directory still tells the result.
        """
        plan = self._shared(asked)
        if plan is not None and not self.whole_file:
            turns = {run: turn for turn, run in enumerate(plan.runs)}
            asked = dict(sorted(asked.items(), key=lambda item: turns[item[1].plan.runs[0]]))
        trials, plan, elsewhere = self._begun(asked, plan)
        done = self.launch(trials, plan, limits) if trials else LaunchOutcome({})
        return replace(done, records={**elsewhere, **done.records})

    def launch(self, trials: Trials, plan: TrialPlan | None, limits: LaunchLimits) -> LaunchOutcome:
        """Launch trials that are begun, and again what was not to blame for its end, as often as `Mishap` says.

        After nodes were lost that is as soon as they answer, else at once.

        Args:
            plan: of all of them; None where no HPL.dat holds them.

        Returns:
            What came of the last launch; with what befell it where that came too often, or lost nodes stay away.

        Raises:
            TunerError, results.errors.ResultsError: as `measure`.
        """
        first = self._launch(trials, plan, limits, Counter())
        return self._until_it_counts(first, partial(self._again, trials, plan, limits))

    def launch_program(
        self, program: ReadyProgram, arguments: Sequence[str], plan: TrialPlan, directory: Path, limit_s: float
    ) -> JobStatus:
        """Launch another MPI program in place of a plan's own, again as `launch` does; no trial tells of it.

        Raises:
            NodesLostError: a node that was lost with it does not come back, or was away too often.
            RunnerError, OSError: it cannot be started, or the network not be set.
        """
        ended: list[JobStatus] = []

        def once(*_before: object) -> LaunchOutcome:
            ended.append(self.evaluator.run_program(program, arguments, plan, directory, limit_s, self.stop))
            return LaunchOutcome({}, event=ended[-1].event, why=ended[-1].message, lost_nodes=ended[-1].lost_nodes)

        self._until_it_counts(once(), once).require_nodes()
        return ended[-1]

    def _until_it_counts(
        self, done: LaunchOutcome, again: Callable[[Trials, Mapping[Mishap, int]], LaunchOutcome]
    ) -> LaunchOutcome:
        """Repeat a launch as often as `Mishap` says; the only place that decides that.

        Args:
            done: what came of the first launch.
            again: launches once more; it gets the trials that the launch before did not come to, and how often it was
                repeated, and for what.
        """
        repeated = Counter[Mishap]()
        while (
            done.event
            and repeated[done.event] < done.event.repeats
            and may_wait_s(self.stop, self.evaluator.left_s()) > 0
        ):
            if silent := self._still_silent(done):
                return replace(done, lost_nodes=silent)
            repeated[done.event] += 1
            done = again(done.left, repeated)
        return done

    def _again(
        self,
        trials: Trials,
        plan: TrialPlan | None,
        limits: LaunchLimits,
        left: Trials,
        repeated: Mapping[Mishap, int],
    ) -> LaunchOutcome:
        """Launch trials once more, as new ones.

        Args:
            left: those that the launch before did not come to.
            repeated: how often they were launched again before, and for what.
        """
        for trial in left.values():
            self.book.commit(not_reached(trial.record))
        anew = {
            place: replace(trial, record=replace(trial.record, number=0, started_at=datetime.now(UTC)))
            for place, trial in trials.items()
        }
        begun, plan, elsewhere = self._begun(anew, plan)
        done = self._launch(begun, plan, limits, repeated) if begun else LaunchOutcome({})
        return replace(done, records={**elsewhere, **done.records})

    def _begun(self, asked: Trials, plan: TrialPlan | None) -> tuple[Trials, TrialPlan | None, dict[int, TrialRecord]]:
        """Commit that trials run, before anything of them is started.

        Args:
            plan: of all of them.

        Returns:
            The trials, and the plan of them; and the records of those that somebody else runs.
        """
        found = {place: begin(self.book, trial) for place, trial in asked.items()}
        trials = {place: one for place, one in found.items() if isinstance(one, PlannedTrial)}
        elsewhere = {place: one for place, one in found.items() if isinstance(one, TrialRecord)}
        return trials, self._shared(trials) if elsewhere else plan, elsewhere

    def _shared(self, trials: Trials) -> TrialPlan | None:
        """The plan of all of some trials; None where there are none, or no HPL.dat holds them."""
        plans = [trial.plan for trial in trials.values()]
        return merge_plans(plans[:1] if self.whole_file else plans) if plans else None

    def _launch(
        self, trials: Trials, plan: TrialPlan | None, limits: LaunchLimits, repeated: Mapping[Mishap, int]
    ) -> LaunchOutcome:
        """Launch trials once, and commit what came of those that HPL came to, or of all where the user ended it.

        Args:
            repeated: how often they were launched before, and for what.
        """
        together = dict(trials) if plan is not None else dict(list(trials.items())[:1])
        first = next(iter(together.values()))
        plan = plan or first.plan
        result = self._run(list(together.values()), plan, limits)
        if isinstance(result, Failure):
            records, outcome = [rejected(first.record, result)], LaunchOutcome({}, began=False)
        else:
            event = result.event
            # what others made late has taken its limit already
            late = event is Mishap.BUSY and (left_s := self.evaluator.left_s()) is not None and left_s < limits.limit_s
            if event and not event.lasting and (late or repeated[event] >= event.repeats):
                result = replace(result, event=None)
            records, outcome = self._ended(list(together.values()), plan, result)
        ended = {place: self.book.commit(record) for place, record in zip(together, records, strict=False)}
        left = {place: trial for place, trial in trials.items() if place not in ended}
        return replace(outcome, records=ended, left=left)

    def _ended(
        self, trials: Sequence[PlannedTrial[TrialPlan]], plan: TrialPlan, result: LaunchResult
    ) -> tuple[list[TrialRecord], LaunchOutcome]:
        """The records of a launch that are still to be committed, and what else came of it."""
        cancelled, directory = result.verdict.cancelled, self.book.folder(trials[0].record.number)
        came_to = trials if cancelled or self.whole_file else trials[: reached(result)]
        records = records_of(came_to, plan, result, directory)
        told = any(result.verdict.faults) and (not cancelled or result.stopped is not None or result.lost_nodes)
        event = result.event if told else None
        if event is Mishap.DISTURBED:
            records = [replace(record, state=TrialState.CANCELLED, invalidity=None) for record in records]
        elif result.stopped and not result.disturbed and records[0].state is TrialState.CANCELLED:
            records = [given_up(records[0], result.stopped)]
        outcome = LaunchOutcome(
            {},
            event=event,
            why=(result.disturbed or records[-1].reason or event.words) if event else "",
            lost_nodes=result.lost_nodes if event else (),
            began=bool(result.begun_s or result.disturbed),
            unavailable=result.unavailable,
        )
        return records, outcome

    def _run(
        self, trials: Sequence[PlannedTrial[TrialPlan]], plan: TrialPlan, limits: LaunchLimits
    ) -> LaunchResult | Failure:
        """Tell the display of a launch, and run it while observers look; or why it cannot be started."""
        first = trials[0]
        shown = trials[:1] if self.whole_file else trials
        labels = [
            trial.label if len(shown) == 1 else f"{trial.label} ({turn} of {len(shown)} in one launch)"
            for turn, trial in enumerate(shown, start=1)
        ]
        self.listener(TrialStarted(first.record.number, labels[0], limits.expected_s))
        watched = WatchedLaunch(
            labels=dict(zip([trial.record.number for trial in shown], labels, strict=True)),
            listener=self.listener,
            clock=self.clock,
            expected_s=limits.expected_s,
            early_stopping=limits.early_stopping,
            must_reach_gflops=limits.must_reach_gflops,
            hpl=plan.runs[0] if len(plan.runs) == 1 else None,
            meters=self.evaluator.meters,
        )
        watch = LaunchWatch(observers_of(watched), ends_between=not self.whole_file)
        try:
            return self.evaluator.evaluate(
                plan, self.book.folder(first.record.number), limits.limit_s, self.stop, watch
            )
        except RunnerError as error:
            return not_started(error)

    def _still_silent(self, done: LaunchOutcome) -> tuple[str, ...]:
        """Give lost nodes a moment to answer again, and return those that do not; a batch system gives others."""
        if done.event is not Mishap.NODE_LOST:
            self._say(f"{done.why}: the run is repeated.")
            return ()
        names, site = ", ".join(done.lost_nodes), self.evaluator.site
        batch = site.nodes.cluster.batch if site.nodes else None
        if batch:
            self._say(f"Node {names} failed: the run is repeated on what {batch.words.title} gives.")
            return ()
        from ..machine.cluster_nodes import silent_nodes  # noqa: PLC0415 - only a cluster needs it

        return_s = min(
            site.nodes.cluster.return_s if site.nodes else 0.0, may_wait_s(self.stop, self.evaluator.left_s())
        )
        self._say(f"Node {names} does not answer: waiting {return_s:.0f} s for it.")
        give_up_s = time.monotonic() + return_s
        while silent := silent_nodes(site):
            if time.monotonic() > give_up_s or may_wait_s(self.stop, self.evaluator.left_s()) <= 0:
                return silent
            time.sleep(PAUSE_S)
        self._say("It answers again: the run is repeated.")
        return ()

    def _say(self, sentence: str) -> None:
        self.listener(Notice(sentence))


def planned(make: Callable[P_args, T], *args: P_args.args, **kwargs: P_args.kwargs) -> T | Failure:
    """A plan, or why there is none."""
    try:
        return make(*args, **kwargs)
    except (PlanError, HplError) as error:
        return Failure(Invalidity.CONSTRAINTS, str(error))


def not_started(error: RunnerError) -> Failure:
    """Why a launch does not start."""
    return Failure(Invalidity.RUNTIME, str(error))


def begin(book: TrialBook, trial: PlannedTrial[P_co]) -> PlannedTrial[P_co] | TrialRecord:
    """Commit that a trial runs, before anything of it is started; or the record of one that somebody else runs.

    That record has no number and is not committed.
    """
    number = book.begin(trial.record)
    if number is None:
        return not_reached(replace(trial.record, number=0))
    return replace(trial, record=replace(trial.record, number=number))


def reject(book: TrialBook, record: TrialRecord, fault: Failure) -> TrialRecord:
    """Commit a new trial that cannot be planned; of one that somebody else runs nothing is committed."""
    number = book.begin(record)
    begun = replace(record, number=number or 0)
    return not_reached(begun) if number is None else book.commit(rejected(begun, fault))


def records_of(
    trials: Sequence[PlannedTrial[TrialPlan]], shared: TrialPlan, result: LaunchResult, directory: Path
) -> list[TrialRecord]:
    """The records of the trials of a launch, whatever their verdicts; they are not committed yet.

    Args:
        trials: in the order in which HPL runs them.
        shared: the plan of the launch.
    """
    return [
        replace(finished(trial.record, shared, result, directory, index), hpl_dat=trial.plan.hpl_dat)
        for index, trial in enumerate(trials)
    ]


class PlanRunner(Protocol[P_contra]):
    """What runs plans where no machine does, several at a time: a simulator, or the player of a table."""

    @property
    def jobs(self) -> int:
        """How many may be under way at a time."""

    def start(self, plan: P_contra, directory: Path, observers: Sequence[LaunchObserver]) -> None:
        """Begin to run a plan.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """

    def next_result(self, stop: Stopping) -> LaunchResult:
        """Wait for the plan that was started first.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """


@dataclass
class QueuedTrials(Generic[P]):
    """Trials that no machine runs: they begin, and end in the order in which they began."""

    runner: PlanRunner[P]
    book: TrialBook
    listener: Listener
    stop: Stopping
    _under_way: deque[PlannedTrial[P]] = field(default_factory=deque, init=False)

    @property
    def free(self) -> bool:
        """Whether another trial may begin."""
        return len(self._under_way) < self.runner.jobs

    @property
    def under_way(self) -> int:
        """How many have begun and not ended."""
        return len(self._under_way)

    def start(self, record: TrialRecord, plan: P | Failure, label: Callable[[P], str]) -> TrialRecord | None:
        """Commit that a trial runs, and start it; its record where it ended at once because it cannot run."""
        if isinstance(plan, Failure):
            return reject(self.book, record, plan)
        trial = begin(self.book, PlannedTrial(record, plan, label(plan)))
        if isinstance(trial, TrialRecord):
            return trial
        number = trial.record.number
        self.listener(TrialStarted(number, trial.label, None))
        watched = WatchedLaunch(labels={number: trial.label}, listener=self.listener, clock=RealClock())
        directory, observers = self.book.folder(number), [ProgressObserver(watched)]
        try:
            self.runner.start(trial.plan, directory, observers)
        except RunnerError as error:
            return self.book.commit(rejected(trial.record, not_started(error)))
        self._under_way.append(trial)
        return None

    def end_oldest(self) -> TrialRecord:
        """Wait for the trial that began first, and commit what came of it."""
        trial = self._under_way.popleft()
        try:
            result = self.runner.next_result(self.stop)
        except RunnerError as error:
            return self.book.commit(rejected(trial.record, not_started(error)))
        (record,) = records_of([trial], trial.plan, result, self.book.folder(trial.record.number))
        return self.book.commit(record)


class Queue(Protocol[E_co]):
    """Runs that begin, several at a time, and end in the order in which they began."""

    @property
    def free(self) -> bool:
        """Whether another run may begin."""

    @property
    def under_way(self) -> int:
        """How many have begun and not ended."""

    def end_oldest(self) -> E_co:
        """Wait for the end of the run that began first."""


def in_turn(waiting: deque[T], begin: Callable[[T], object], queue: Queue[E_co], stop: Stopping) -> Iterator[E_co]:
    """Begin what waits where a queue is free, else end its oldest run and yield what came of it.

    Args:
        waiting: what is still to begin, in this order; more may be added meanwhile.
        begin: begins one of these, or passes it over.
        stop: after a request nothing more begins.
    """
    while True:
        if waiting and queue.free and not stop.requested:
            begin(waiting.popleft())
        elif queue.under_way:
            yield queue.end_oldest()
        else:
            return
