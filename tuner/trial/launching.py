"""The one way of a trial: commit that it runs, run it, judge it, commit what came of it, repeat it as `Mishap` says."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from hpl.errors import HplError
from hpl.params import Scalar
from hpl.programs.family import ReadyProgram
from results.record import SIMULATOR, Invalidity, TrialRecord, TrialState
from runners.base import JobStatus
from runners.errors import Mishap, RunnerError

from ..clock import Clock, RealClock
from ..errors import OUR_ERRORS
from ..events import Listener, Notice, TrialStarted
from ..stopping import Stopping, may_wait_s
from .evaluate import Evaluator
from .judge import Failure, sound
from .launch import LaunchLimits, LaunchOutcome, LaunchResult, LaunchWatch, LimitsOf, prevented
from .observers.contract import WatchedLaunch
from .plan import P, PlanError, TrialPlan, label, merge_plans
from .plausible import MeasuredLaunch
from .records import not_reached, records_of, rejected
from .site import Site

T = TypeVar("T")
P_args = ParamSpec("P_args")
Settings = Mapping[str, Scalar]
P_co = TypeVar("P_co", covariant=True)

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
        plan: of it alone; of one that is asked for it may be the reason why there is none.
        varied: what else tells it from others in the line that the display has of it.
    """

    record: TrialRecord
    plan: P_co
    varied: str = ""


Asked = Mapping[int, PlannedTrial[P | Failure]]
"""Trials that are asked for together, by their place."""
Trials = Mapping[int, PlannedTrial[P]]
"""Some of them that have begun, by their place, in the order in which HPL runs them."""


@dataclass(frozen=True, kw_only=True)
class TrialsUnderWay(Generic[P]):
    """Trials that were asked for together, on their way.

    Attributes:
        ticket: tells them from others.
        slot: the site that is not free meanwhile; `site` is where they run.
        trials: those that are begun and share the next launch, or the last one where lost nodes are waited for.
        later: those that are begun and get a launch of their own after that.
        plan: of the launch.
        limit_s: seconds after which it is ended.
        started_at: when it began.
        repeated: how often these trials were launched before, and for what.
        blamed: settings were to blame for the last launch, so that it is not repeated when its nodes answer again.
        done: what came of all launches before.
    """

    ticket: int
    slot: Site[P]
    site: Site[P]
    limits: LimitsOf
    trials: Trials[P] = field(default_factory=dict)
    later: Trials[P] = field(default_factory=dict)
    plan: P | None = None
    limit_s: float = 0.0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    repeated: Counter[Mishap] = field(default_factory=Counter)
    blamed: bool = False
    done: LaunchOutcome = field(default_factory=LaunchOutcome)

    @property
    def launched(self) -> P:
        """What was launched last."""
        return self.plan or next(iter(self.trials.values())).plan

    @property
    def unfinished(self) -> Trials[P]:
        """Those that are begun and have not ended: where lost nodes are waited for, only the later ones."""
        return self.later if self.done.event else {**self.trials, **self.later}


SiteAnswer = LaunchResult | tuple[str, ...]
"""What came of a launch; or the lost nodes that stay silent."""


@dataclass(kw_only=True)
class Launching(Generic[P]):
    """The one way of a trial: begin it, run it on a site, judge it, commit what came of it, repeat it as `Mishap` says.

    Attributes:
        sites: so many trials run at a time, each in a thread; on the only site they run when they are waited for.
        book: where trials are recorded, in the thread that starts them and waits for them.
        stop: after a request nothing is repeated.
        rule_out: learns which settings nodes cannot have together; nothing where there are none.
        blamed: which settings of a launch are to blame for what befell it; none where that may be chance.
        whole_file: trials are the runs of one HPL.dat, and each has the plan of all of it: the display hears of it as
            one, it goes to its end after a request to stop, and each of its runs gets a record.
    """

    sites: Sequence[Site[P]]
    book: TrialBook
    listener: Listener
    stop: Stopping
    clock: Clock = field(default_factory=RealClock)
    whole_file: bool = False
    rule_out: Callable[[Settings], None] = lambda _refused: None
    blamed: Callable[[Mishap | None, Settings], Settings] = lambda _event, _settings: {}
    _idle: deque[Site[P]] = field(init=False)
    _ended: deque[LaunchOutcome] = field(default_factory=deque, init=False)
    _running: list[tuple[TrialsUnderWay[P], Callable[[], SiteAnswer], Future[SiteAnswer] | None]] = field(
        default_factory=list, init=False
    )
    _begun: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._idle = deque(self.sites)

    @property
    def free(self) -> bool:
        """Whether something else may start."""
        return bool(self._idle) and not self._ended

    @property
    def idle(self) -> Site[P]:
        """The site on which the next start runs, where one is free."""
        return self._idle[0]

    @property
    def under_way(self) -> int:
        """How many starts `next` has not told of."""
        return len(self._running) + len(self._ended)

    def start(self, asked: Asked[P], limits: LimitsOf, site: Site[P] | None = None) -> int:
        """Begin trials, and launch them together if one HPL.dat holds them, else one after the other.

        What cannot be planned is recorded with the reason. What another process of a study began in the same moment is
        left to it, and so is its budget's last trial: the record is cancelled and has no number.

        Args:
            site: where they run; None for one that is free.

        Returns:
            The ticket of their outcome.

        Raises:
            results.errors.ResultsError: the store cannot be written.
        """
        slot, wishes, records = self._idle[0], dict[int, PlannedTrial[P]](), dict[int, TrialRecord]()
        for number, trial in asked.items():
            record, simulator = trial.record, slot.simulator
            record = replace(record, versions={SIMULATOR: simulator}) if simulator else record
            if isinstance(trial.plan, Failure):
                begun = self._begun_record(record)
                records[number] = self.book.commit(rejected(begun, trial.plan)) if begun.number else begun
            else:
                wishes[number] = PlannedTrial(record, trial.plan, trial.varied)
        plan = self._shared(wishes)
        if plan is not None and not self.whole_file:
            turns = {run: turn for turn, run in enumerate(plan.runs)}
            wishes = dict(sorted(wishes.items(), key=lambda item: turns[item[1].plan.runs[0]]))
        self._begun += 1
        self._idle.popleft()
        done = LaunchOutcome(records, self._begun)
        launch = TrialsUnderWay(ticket=self._begun, slot=slot, site=site or slot, limits=limits, done=done)
        try:
            self._begin(launch, wishes)
        except BaseException:
            self._idle.append(slot)
            raise
        return self._begun

    def next(self) -> LaunchOutcome:
        """Wait until trials have ended that were asked for together, repeated as often as `Mishap` says.

        On machines the first that ends comes first, else what began first.

        Raises:
            TunerError: no run can be started here; the trials are given up.
            results.errors.ResultsError: the records cannot be kept; the run's directory still tells the result.
        """
        while not self._ended:
            launch, answer = self._first()
            left = launch.unfinished
            try:
                try:
                    found = answer()
                except RunnerError as error:
                    found = prevented(launch.launched, error, launch.started_at)
                left = {}
                if isinstance(found, tuple):
                    self._after_waiting(launch, found)
                else:
                    self._after_run(launch, found)
            except BaseException:
                self._idle.append(launch.slot)
                with suppress(*OUR_ERRORS):
                    self._give_up(left)
                raise
        return self._ended.popleft()

    def measure(self, asked: Asked[P], limits: LaunchLimits) -> LaunchOutcome:
        """Run trials while nothing else runs, as `start` and `next` do."""
        self.start(asked, lambda _: limits)
        return self.next()

    def close(self) -> None:
        """End what simulators run, wait for what machines run, and commit what came of it; nothing stays RUNNING.

        Where somebody leaves the wait for a run that hangs, all are given up.
        """
        for site in self.sites if self._running else ():
            site.close()
        while self._running:
            try:
                launch, answer = self._first()
            except BaseException:
                while self._running:
                    self._give_up(self._running.pop()[0].unfinished)
                raise
            left = launch.unfinished
            with suppress(Exception):  # an error before this one is told, and the others still count
                try:
                    found = answer() if len(self.sites) > 1 else ()
                except RunnerError as error:
                    found = prevented(launch.launched, error, launch.started_at)
                if not isinstance(found, tuple):
                    left = {}
                    left = {**self._commit(launch, found)[1], **launch.later}
            self._give_up(left)

    def _give_up(self, trials: Trials[P]) -> dict[int, TrialRecord]:
        """Commit that trials which were begun are not run any more."""
        return {place: self.book.commit(not_reached(trial.record)) for place, trial in trials.items()}

    def launch_program(
        self,
        evaluator: Evaluator,
        program: ReadyProgram,
        arguments: Sequence[str],
        plan: TrialPlan,
        directory: Path,
        limit_s: float,
    ) -> JobStatus:
        """Launch another MPI program in place of a plan's own, again as trials are; no trial tells of it.

        Raises:
            NodesLostError: a node that was lost with it does not come back, or was away too often.
            RunnerError, OSError: it cannot be started, or the network not be set.
        """
        repeated = Counter[Mishap]()
        while True:
            status = evaluator.run_program(program, arguments, plan, directory, limit_s, self.stop)
            done = LaunchOutcome(event=status.event, why=status.message, lost_nodes=status.lost_nodes)
            blamed, silent = bool(self.blamed(status.event, plan.settings)), done.lost_nodes
            repeats = not blamed and self._repeats(evaluator, done.event, repeated)
            if repeats or blamed:
                silent = still_silent(done, evaluator, self.stop, self.listener, blamed=blamed)
            if not repeats or silent or may_wait_s(self.stop, evaluator.left_s()) <= 0:
                replace(done, lost_nodes=silent).require_nodes()
                return status

    def _repeats(self, site: Site[Any], event: Mishap | None, repeated: Counter[Mishap]) -> bool:
        """Whether a launch is repeated after an event, and count that; the only place that decides it."""
        if event is None or repeated[event] >= event.repeats or may_wait_s(self.stop, site.left_s()) <= 0:
            return False
        repeated[event] += 1
        return True

    def _begin(self, launch: TrialsUnderWay[P], wishes: Trials[P]) -> None:
        """Commit that trials run, before anything of them is started, and launch them."""
        begun = {place: replace(trial, record=self._begun_record(trial.record)) for place, trial in wishes.items()}
        elsewhere = {place: trial.record for place, trial in begun.items() if not trial.record.number}
        trials = {place: trial for place, trial in begun.items() if trial.record.number}
        done = replace(launch.done, records={**launch.done.records, **elsewhere})
        self._go_on(replace(launch, done=done), trials)

    def _begun_record(self, record: TrialRecord) -> TrialRecord:
        """Commit that a trial runs; the record of one that somebody else runs has no number and is not committed."""
        number = self.book.begin(record)
        return replace(record, number=number) if number else not_reached(replace(record, number=0))

    def _go_on(self, launch: TrialsUnderWay[P], trials: Trials[P]) -> None:
        """Launch trials that have begun, those of `later` where there are none, or say that all is done."""
        if not trials and launch.later:
            first, *_ = launch.later
            trials = {first: launch.later[first]}
            later = {place: trial for place, trial in launch.later.items() if place != first}
            launch = replace(launch, later=later, repeated=Counter())
        if not trials:
            self._idle.append(launch.slot)
            self._ended.append(launch.done)
            return
        plan = self._shared(trials)
        if plan is None:
            (number, first_trial), *others = trials.items()
            trials, plan = {number: first_trial}, first_trial.plan
            launch = replace(launch, later={**dict(others), **launch.later})
        limits, now = launch.limits([trial.record for trial in trials.values()]), datetime.now(UTC)
        run = self._prepared(launch.site, list(trials.values()), plan, limits)
        launch = replace(launch, trials=trials, plan=plan, limit_s=limits.limit_s, started_at=now)
        self._running.append((launch, run, in_thread(run) if len(self.sites) > 1 else None))

    def _first(self) -> tuple[TrialsUnderWay[P], Callable[[], SiteAnswer]]:
        """The launch that ends first, or began first where time is virtual, and what waits for its end."""
        turn, futures = 0, [future for _, _, future in self._running if future is not None]
        if futures:
            done = wait(futures[:1] if self.sites[0].simulator else futures, return_when=FIRST_COMPLETED).done
            turn = next(number for number, future in enumerate(futures) if future in done)
        launch, work, future = self._running.pop(turn)
        return launch, future.result if future else work

    def _after_run(self, launch: TrialsUnderWay[P], result: LaunchResult) -> None:
        """Commit a launch that has ended; then repeat it, or give lost nodes a moment, or go on."""
        outcome, left = self._commit(launch, result)
        before, blamed = launch.done, bool(outcome.event and outcome.unavailable)
        done = replace(
            outcome,
            records={**before.records, **outcome.records},
            ticket=launch.ticket,
            unavailable=[*before.unavailable, *outcome.unavailable],
        )
        launch = replace(launch, done=done, blamed=blamed)
        if not blamed and self._repeats(launch.site, done.event, launch.repeated):
            self._give_up(left)
        else:
            launch = replace(launch, later={**left, **launch.later})
            if not blamed:
                self._go_on_if_it_may(launch)
                return
        look = partial(still_silent, done, launch.site, self.stop, self.listener, blamed=blamed)
        self._running.append((launch, look, in_thread(look) if len(self.sites) > 1 else None))

    def _after_waiting(self, launch: TrialsUnderWay[P], silent: tuple[str, ...]) -> None:
        """Repeat a launch whose lost nodes answer again; where some are silent, or settings are to blame, go on."""
        done, over = launch.done, may_wait_s(self.stop, launch.site.left_s()) <= 0
        if silent or launch.blamed or over:
            event, later = done.event, launch.later
            if launch.blamed:
                event, part = None, done.unavailable[-1].items()
                later = {place: one for place, one in later.items() if not part <= one.plan.settings.items()}
                barred = {place: one for place, one in launch.later.items() if place not in later}
                done = replace(done, records={**done.records, **self._give_up(barred)})
            done = replace(done, event=event, lost_nodes=silent)
            self._go_on_if_it_may(replace(launch, later=later, done=done))
            return
        anew = {
            place: replace(trial, record=replace(trial.record, number=0, started_at=datetime.now(UTC)))
            for place, trial in launch.trials.items()
        }
        self._begin(replace(launch, done=replace(done, event=None, why="", lost_nodes=())), anew)

    def _go_on_if_it_may(self, launch: TrialsUnderWay[P]) -> None:
        """Launch what is left, or give it up after an event, a request to stop, or when the budget is spent."""
        done = launch.done
        if self.whole_file or done.event or may_wait_s(self.stop, launch.site.left_s()) <= 0:
            given_up = self._give_up(launch.later)
            records = done.records if self.whole_file else {**done.records, **given_up}
            launch = replace(launch, later={}, done=replace(done, records=records))
        self._go_on(launch, {})

    def _shared(self, trials: Trials[P]) -> P | None:
        """The plan of all of some trials; None where there are none, or no HPL.dat holds them."""
        plans = [trial.plan for trial in trials.values()]
        return merge_plans(plans[:1] if self.whole_file else plans) if plans else None

    def _commit(self, launch: TrialsUnderWay[P], result: LaunchResult) -> tuple[LaunchOutcome, Trials[P]]:
        """Judge a launch, and commit the trials that HPL came to, or all where the user ended it.

        Returns:
            What came of the launch, and the trials that it did not come to.
        """
        trials, plan, told = list(launch.trials.values()), launch.launched, result.verdict
        virtual, event = bool(launch.site.simulator), result.event
        measured = result.measured or (None if virtual else MeasuredLaunch(result.cost_s))
        verdict = sound(told, plan, measured, partial(launch.site.limits, plan))
        verdict = verdict.doubted([result.disturbed] * len(plan.runs), Invalidity.CONSTRAINTS)
        if event and not event.lasting:
            # A run that others made late has taken its limit already.
            left_s = launch.site.left_s()
            late = event is Mishap.BUSY and left_s is not None and left_s < launch.limit_s
            event = None if late or launch.repeated[event] >= event.repeats else event
        cost_s = 0.0 if virtual and not result.command else result.cost_s
        result = replace(result, verdict=verdict, event=event, cost_s=cost_s)
        folder = self.book.folder(trials[0].record.number)
        begun = [trial.record for trial in trials]
        records, outcome = records_of(begun, plan, result, folder, all_of_them=self.whole_file)
        records = [replace(one, hpl_dat=trial.plan.hpl_dat) for one, trial in zip(records, trials, strict=False)]
        if outcome.event and (part := self.blamed(outcome.event, trials[0].plan.settings)):
            outcome, failed, why = replace(outcome, unavailable=[part]), TrialState.FAILED, Invalidity.CONSTRAINTS
            records = [replace(record, state=failed, invalidity=why) for record in records]
        places = list(launch.trials)
        ended = {place: self.book.commit(record) for place, record in zip(places, records, strict=False)}
        self.rule_out(result.unavailable)
        return replace(outcome, records=ended), {place: launch.trials[place] for place in places[len(records) :]}

    def _prepared(
        self, site: Site[P], trials: Sequence[PlannedTrial[P]], plan: P, limits: LaunchLimits
    ) -> Callable[[], LaunchResult]:
        """Tell the display of a launch, and return what runs it while observers look."""
        first = trials[0]
        shown = trials[:1] if self.whole_file else trials
        labels = [
            label(trial.plan, trial.varied) + (f" ({turn} of {len(shown)} in one launch)" if len(shown) > 1 else "")
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
        )
        watch = LaunchWatch(site.observers(watched), ends_between=not self.whole_file)
        return partial(site.run, plan, self.book.folder(first.record.number), limits.limit_s, self.stop, watch)


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Work in a thread that keeps no process alive: one that hangs ends with it."""
    future = Future[T]()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def planned(make: Callable[P_args, T], *args: P_args.args, **kwargs: P_args.kwargs) -> T | Failure:
    """A plan, or why there is none."""
    try:
        return make(*args, **kwargs)
    except (PlanError, HplError) as error:
        return Failure(Invalidity.CONSTRAINTS, str(error))


def still_silent(
    done: LaunchOutcome, site: Site[Any], stop: Stopping, say: Callable[[Notice], None], *, blamed: bool
) -> tuple[str, ...]:
    """Give lost nodes a moment to answer again, and return those that do not; a batch system gives others."""
    then = "" if blamed else ": the run is repeated"
    if done.event is not Mishap.NODE_LOST:
        say(Notice(f"{done.why}{then}."))
        return ()
    names, nodes = ", ".join(done.lost_nodes), site.machine.nodes if site.machine else None
    if nodes and (batch := nodes.cluster.batch):
        say(Notice(f"Node {names} failed{then and f'{then} on what {batch.words.title} gives'}."))
        return ()
    from ..machine.cluster_nodes import silent_nodes  # noqa: PLC0415 - only a cluster needs it

    return_s = min(nodes.cluster.return_s if nodes else 0.0, may_wait_s(stop, site.left_s()))
    say(Notice(f"Node {names} does not answer: waiting {return_s:.0f} s for it."))
    give_up_s = time.monotonic() + return_s
    while site.machine and (silent := silent_nodes(site.machine)):
        if time.monotonic() > give_up_s or may_wait_s(stop, site.left_s()) <= 0:
            return silent
        time.sleep(PAUSE_S)
    say(Notice(f"It answers again{then}."))
    return ()
