"""A launch: what it may take, what is seen of it while it runs, and what came of it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from hpl.params import Scalar
from hpl.private_files import private_folder
from hpl.witness import Panel, SolveConditions
from results.record import Invalidity, TrialRecord
from runners.errors import Mishap, RefusedError, RunnerError
from runners.job import Job
from runners.paths import RunPaths

from ..errors import NodesLostError, TunerError
from ..stopping import Stopping
from .early_stopping import EarlyStopping, StopDecision
from .judge import Failure, Verdict
from .observers.contract import LaunchObserver, Measurements, SolveTime, together
from .plan import TrialPlan
from .plausible import MeasuredLaunch


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


LimitsOf = Callable[[Sequence[TrialRecord]], LaunchLimits]
"""What a launch of some trials may take, as it is known when it begins."""


@dataclass(frozen=True)
class LaunchOutcome:
    """What came of trials that were asked for together; each is named by its place.

    Attributes:
        records: of all of them, committed but for those that were not begun; of a file those that HPL came to.
        ticket: what `Launching.start` returned.
        event: what befell the last launch, where that leaves nothing that counts; None where records tell.
        why: the sentence about that; else "".
        lost_nodes: nodes that were lost by it, or are back after that.
        began: whether HPL began, as far as that is known.
        unavailable: parameters of a plan that together cannot be had on these nodes, with their values, of each launch.
    """

    records: Mapping[int, TrialRecord] = field(default_factory=dict)
    ticket: int = 0
    event: Mishap | None = None
    why: str = ""
    lost_nodes: tuple[str, ...] = ()
    began: bool = True
    unavailable: Sequence[Mapping[str, Scalar]] = ()

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


@dataclass(frozen=True)
class LaunchResult:
    """What came of one launch.

    Attributes:
        command: the exact command line, "" where nothing was started.
        output: HPL's own standard output; `errors_text` everything the ranks and the launcher said on stderr, and what
            observers keep beside it.
        event: what befell it that says nothing about the configuration; None where nothing did.
        lost_nodes: nodes that were lost, or are back after that.
        disturbed: the sentence about a network setting that somebody else changed while it ran; "" where none.
        unavailable: parameters of the plan that together cannot be had on these nodes, with their values.
        cost_s: wall seconds from launch to the end of the process tree, without waiting in a queue.
        begun_s: when the first panel of each run was heard of, in seconds from launch; fewer where none was.
        stopped: why an observer ended it; None where none did.
        measurements: what was measured during each run, in HPL's order; fewer where nothing was.
        measured: what the results are held against; None where only the seconds are known.
    """

    verdict: Verdict
    command: str
    output: str
    errors_text: str
    started_at: datetime
    ended_at: datetime
    cost_s: float
    xhpl_key: str
    event: Mishap | None = None
    lost_nodes: tuple[str, ...] = ()
    begun_s: tuple[float, ...] = ()
    disturbed: str = ""
    unavailable: Mapping[str, Scalar] = field(default_factory=dict)
    stopped: StopDecision | None = None
    measurements: Sequence[Measurements] = ()
    measured: MeasuredLaunch | None = None


def not_started(plan: TrialPlan, fault: Failure, started_at: datetime) -> LaunchResult:
    """What came of a launch of which nothing was started."""
    verdict = Verdict(results=(), faults=tuple(fault for _ in plan.runs), observed=None, cancelled=False)
    now = datetime.now(UTC)
    return LaunchResult(verdict, "", "", "", started_at, now, (now - started_at).total_seconds(), "")


def prevented(plan: TrialPlan, error: RunnerError, started_at: datetime) -> LaunchResult:
    """What came of a launch that an error prevented: what befell it, or what cannot be had on these nodes."""
    if isinstance(error, RefusedError):
        result = not_started(plan, Failure(Invalidity.CONSTRAINTS, str(error)), started_at)
        return replace(result, unavailable=plan.with_setting(error.setting))
    result = not_started(plan, Failure(Invalidity.RUNTIME, str(error)), started_at)
    return replace(result, event=error.event, lost_nodes=error.lost_nodes)


@dataclass
class LaunchWatch:
    """What is seen of a launch while it runs: when its runs begin, and what its observers decide.

    Attributes:
        ends_between: a request to stop ends the launch where a further run of it begins.
        begun_s: when the first panel of each run was heard of, by the monotonic clock.
        stopped_s: HPL's seconds of a run that was to stop at a column; None before it did.
        decision: why an observer ends it; None while none does.
        over: a further run began after a request to stop.
        job_id: of the job that runs it.
    """

    observers: Sequence[LaunchObserver] = ()
    ends_between: bool = False
    begun_s: list[float] = field(default_factory=list, init=False)
    stopped_s: float | None = field(default=None, init=False)
    decision: StopDecision | None = field(default=None, init=False)
    over: bool = field(default=False, init=False)
    job_id: str = field(default="", init=False)

    @contextmanager
    def of(self, job: Job, nodes: Sequence[str]) -> Iterator[None]:
        """Tell observers that a job will be submitted now; and of its end where the block cannot run it."""
        for observer in self.observers:
            observer.begin(job, nodes)
        try:
            yield
        except BaseException:
            self.end()
            raise

    def look(self, panels: Sequence[Panel], stop: Stopping) -> None:
        """Take in what rank 0 has begun since the last look, and let observers look."""
        for panel in panels:
            if panel.column == 0:
                self.over |= self.ends_between and bool(self.begun_s) and stop.requested
                self.begun_s.append(time.monotonic())
            if panel.stopped:
                self.stopped_s = panel.time_s
        for observer in self.observers:
            decision = observer.look(panels)
            self.decision = self.decision or decision

    def solves(self, runs: int, times_s: Sequence[float], told: Mapping[int, SolveConditions]) -> list[SolveTime]:
        """When HPL solved so many runs, of which the first have these times, and what was told of each."""
        ends_s = [*times_s, *([self.stopped_s] if self.stopped_s is not None else [])]
        return [
            SolveTime(
                began_s,
                began_s + ends_s[number] if began_s is not None and number < len(ends_s) else None,
                told.get(number, SolveConditions()),
            )
            for number, began_s in enumerate((*self.begun_s[:runs], *[None] * (runs - len(self.begun_s))))
        ]

    def end(self, solves: Sequence[SolveTime] = ()) -> Sequence[Measurements]:
        """Tell observers that the processes have ended, and put together what they measured."""
        return together([observer.end(solves) for observer in self.observers])

    def lines(self) -> str:
        """What observers keep of the runs over their time, as lines of standard error; after `end`."""
        return "".join(line for observer in self.observers for line in observer.lines())


@contextmanager
def run_folder(directory: Path) -> Iterator[RunPaths]:
    """Make the folder of a run and start the run there; what fails here is never the configuration's fault.

    Raises:
        TunerError: the folder cannot be written, or this system starts no further program.
    """
    try:
        private_folder(directory)
        yield RunPaths(directory)
    except OSError as error:
        raise TunerError(f"no run can be started in {directory}: {error.strerror}") from error
