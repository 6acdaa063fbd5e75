"""A job of ours in a batch system, its trials, and when the system is asked about it."""

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from ..base import JobId, JobState, JobStatus
from ..errors import InvalidJobError, Mishap, RunnerError, SubmitError, UnreachableError
from ..hosts.transport import say_all
from ..job import Job
from ..launchers.base import Launcher, befell
from ..paths import RunPaths
from .base import BatchJob, BatchSystem, JobPhase, in_words
from .spool import Spool, WorkerReport

SILENCE_S = 900.0
"""How long a batch system may be silent; a restart with a large queue takes minutes."""
LATE_S = 120.0
"""Time that the worker has after a trial's walltime to end the trial and to report that."""
FORGOTTEN_S = 30.0
"""How long a system may not know a job before it counts as lost: Grid Engine tells of its end up to 15 s later."""
ANSWER_S = 20.0
"""Seconds that a node has to run nothing as a step of the job."""

FIRST_PAUSE_S, LAST_PAUSE_S, ENDING_PAUSE_S = 0.1, 10.0, 1.0
"""Pauses between two questions about a job: short at first and while it ends, otherwise long enough for any site."""


@dataclass(eq=False)
class Trial:
    """A job that runs in an allocation.

    Attributes:
        number: its number in the allocation; 0 until the worker gets it.
        deadline_s: when its end should be known, by this process's monotonic clock.
        stopped_s: of that clock, when the worker was told to end it; 0 before.
    """

    job: Job
    mark: JobId
    argv: Sequence[str]
    status: JobStatus = field(default_factory=lambda: JobStatus(JobState.QUEUED))
    number: int = 0
    deadline_s: float = float("inf")
    stopped_s: float = 0.0

    def finish(self, state: JobState, message: str, exit_code: int | None = None, event: Mishap | None = None) -> None:
        """Set its final status; what failed before it began got no nodes."""
        now = datetime.now(UTC)
        event = event or (Mishap.NO_NODES if state is JobState.FAILED and self.status.started_at is None else None)
        self.status = replace(self.status, state=state, exit_code=exit_code, message=message, event=event, ended_at=now)


class TrialQueue:
    """The waiting trials, and the current one, which the worker has."""

    def __init__(self, spool: Spool) -> None:
        self.current: Trial | None = None
        self._spool = spool
        self._waiting: deque[Trial] = deque()
        self._given = 0

    @property
    def idle(self) -> bool:
        """Whether there are no trials."""
        return self.current is None and not self._waiting

    def add(self, trial: Trial) -> None:
        """Queue a trial behind the earlier ones."""
        self._waiting.append(trial)
        self._hand_over()

    def drop_current(self) -> None:
        """Remove the current trial, which has ended, and hand over the next."""
        self.current = None
        self._hand_over()

    def withdraw(self, trial: Trial) -> None:
        """Cancel a trial if it is still waiting."""
        if trial in self._waiting:
            self._waiting.remove(trial)
            trial.finish(JobState.CANCELLED, "the run was cancelled")

    def take_all(self) -> list[Trial]:
        """Remove and return all trials, the current one first."""
        trials = [*([] if self.current is None else [self.current]), *self._waiting]
        self.current = None
        self._waiting.clear()
        return trials

    def _hand_over(self) -> None:
        """Give the worker the next trial if it has none."""
        if self.current is not None or not self._waiting:
            return
        trial = self._waiting.popleft()
        self._given += 1
        trial.number = self._given
        try:
            self._spool.hand_over(trial.number, trial.mark, trial.job.walltime_s, trial.job.directory, trial.argv)
        except OSError as error:
            trial.finish(JobState.FAILED, f"{self._spool.folder} cannot be written: {error.strerror}")
            return
        self.current = trial


@dataclass(frozen=True)
class AllocationTerms:
    """What allocations of a study are asked for and how they end, beside what the batch system's table says.

    Attributes:
        cores_per_node: physical cores of a node that ranks and their threads may use.
        queue_limit_s: how long a job may wait for its nodes.
        lease_s: a job ends if hpltune is silent for this time; at least 1.

    Raises:
        InvalidJobError: nothing could run on these terms.
    """

    batch: BatchSystem
    cores_per_node: int
    queue_limit_s: float
    lease_s: float = 120.0

    def __post_init__(self) -> None:
        for name in ("cores_per_node", "lease_s"):
            if not 1 <= getattr(self, name) <= 10**8:
                raise InvalidJobError(f"{self.batch.name}: {name} = {getattr(self, name)}, expected at least 1")


class Doubt(Enum):
    """The state of the question why a launcher failed."""

    NONE = "no launcher failed"
    ASKED = "the batch system is asked, as it may know better why"
    SETTLED = "it knows of no reason: the launcher's own counts"


class Allocation:
    """A job of a batch system with our worker in it, which takes one trial after another.

    Attributes:
        number: the number of the job.
        polling: the times of the questions to the batch system.
        over: whether the system says that it has ended.
        lost: nodes that did not answer when a run had failed.
        trials: its trials.
        verdict: how they end once it was given up; None before.
    """

    def __init__(self, terms: AllocationTerms, launcher: Launcher, folder: Path, time_s: float) -> None:
        """Submit the allocation.

        Args:
            folder: a new folder, on a file system that all nodes share.

        Raises:
            InvalidJobError, SubmitError: the batch system does not take it.
        """
        self._terms = terms
        self._launcher = launcher
        self._time_s = time_s
        try:
            self.spool = Spool(folder, terms.batch.end_steps, terms.lease_s, once=not terms.batch.reuse)
        except OSError as error:
            raise SubmitError(f"{folder} cannot be made: {error.strerror}", transient=False) from error
        try:
            self.number = terms.batch.submit(terms.cores_per_node, time_s, self.spool.log, self.spool.script)
        except RunnerError as error:
            self.spool.remove()
            error.event = error.event or Mishap.NO_NODES
            raise
        self.polling = Polling()
        self.over = False
        self.lost: tuple[str, ...] = ()
        self._seen: BatchJob | None = None
        self.verdict: tuple[JobState, str, Mishap | None] | None = None
        self.trials = TrialQueue(self.spool)
        self._doubt = Doubt.NONE

    def left_s(self) -> float:
        """Seconds until its time limit; the whole limit before it has begun."""
        if self._seen is None or self._seen.left_s is None or self._seen.phase is JobPhase.WAITING:
            return self._time_s
        return self._seen.left_s - (time.monotonic() - self.polling.answered_s)

    @property
    def ends(self) -> bool:
        """Whether the system has ended it and only cleans up: that takes long where a node of it is gone."""
        return self._seen is not None and self._seen.phase is JobPhase.ENDING

    def read(self) -> None:
        """Process the worker's reports."""
        trial = self.trials.current
        if trial is None or self.over:
            return
        report = _report(self.spool, trial)
        if report.started and trial.status.state is JobState.QUEUED:
            trial.status = JobStatus(JobState.RUNNING, started_at=datetime.now(UTC))
            trial.deadline_s = time.monotonic() + trial.job.walltime_s + LATE_S
        if report.why is not None:
            if report.failed and self._doubt is not Doubt.SETTLED:
                if self._doubt is Doubt.NONE:  # the system may know a better reason, such as a failed node
                    self._doubt = Doubt.ASKED
                    self.polling.soon()
                return
            self._conclude(trial, report)
            if report.failed or report.why == "timeout":
                self._blame_silent_nodes(trial)
            self._doubt = Doubt.NONE
            self.trials.drop_current()
        elif time.monotonic() > trial.deadline_s:
            self.give_up(
                JobState.TIMEOUT,
                f"{_at_limit(trial)}, and the worker on the first node does not answer",
                Mishap.DAEMON_LOST,
            )

    def note(self, seen: BatchJob | None) -> None:
        """Process the system's answer about the job; None if it does not know the job, which may be so for a moment."""
        if seen is None and self.verdict is None and time.monotonic() - self.polling.answered_s < FORGOTTEN_S:
            self.polling.unanswered()
            return
        if seen is not None and seen.left_s is None:
            seen = replace(seen, left_s=self.left_s())
        self.polling.answered()
        before, self._seen = self._seen, seen
        if seen is None:
            self._end(
                JobState.FAILED,
                f"{self._terms.batch.words.title} does not know job {self.number} any more",
                Mishap.DAEMON_LOST,
            )
        elif seen.phase is JobPhase.ENDED:
            failed = self._failed_nodes(seen, before)
            self._end(seen.state, seen.told(failed), seen.event, failed)
        elif self.verdict is not None:
            self._tell()
        elif seen.phase is JobPhase.WAITING:
            self._wait(seen, began=before is not None and before.phase is not JobPhase.WAITING)
        elif seen.phase is not JobPhase.RUNNING:
            self._doubt = Doubt.NONE if self._doubt is Doubt.NONE else Doubt.ASKED
            self.polling.pause_s = min(self.polling.pause_s, ENDING_PAUSE_S)
        elif self._doubt is Doubt.ASKED:
            self._doubt = Doubt.SETTLED

    def unheard(self, error: RunnerError) -> None:
        """Process the system's silence: a run fails only if nothing else is known of it for a long time."""
        self.polling.unanswered()
        now, trial = self.polling.asked_s, self.trials.current
        running = trial is not None and trial.status.state is JobState.RUNNING
        late = trial is not None and now > trial.deadline_s
        if self._doubt is Doubt.ASKED:
            self._doubt = Doubt.SETTLED
        if now - self.polling.answered_s > SILENCE_S and (late or not running):
            self._end(
                JobState.FAILED,
                f"nothing was heard for {in_words(SILENCE_S)} of job {self.number}: {error}",
                Mishap.DAEMON_LOST,
            )

    def stop(self, trial: Trial) -> None:
        """Order the worker to end a trial; the trial's status tells when that is done."""
        if trial is self.trials.current:
            self.spool.stop(trial.number, trial.mark)
            trial.stopped_s = time.monotonic()
            self.polling.soon()
        else:
            self.trials.withdraw(trial)

    def withdraw(self, trial: Trial) -> bool:
        """Cancel a stopped trial of a job that has no nodes yet; a worker that starts later reads "stop"."""
        waiting = (
            self._seen is not None
            and self._seen.phase is JobPhase.WAITING
            and self.polling.answered_s > trial.stopped_s
        )
        if trial is self.trials.current and waiting and not self.spool.report(trial.number).started:
            trial.finish(JobState.CANCELLED, "the run was cancelled")
            self.trials.drop_current()
        return trial.status.state.final

    def give_up(self, state: JobState, sentence: str, event: Mishap | None = None) -> None:
        """End the allocation; its trials get this state once the system says that nothing is left."""
        if self.verdict is None:
            self.verdict = (state, sentence, event)
            self.polling.soon()
            self._tell()

    def _tell(self) -> None:
        """Order the worker to leave and the system to end the job; repeated at each poll until the job has ended."""
        with contextlib.suppress(OSError, SubmitError):
            self.spool.leave()
        with contextlib.suppress(SubmitError):
            self._terms.batch.cancel([self.number])

    def _wait(self, seen: BatchJob, *, began: bool) -> None:
        """Process why the job waits, and end it if it would wait for ever or too long, or had begun before."""
        trial = self.trials.current
        if trial is not None and trial.status.state is JobState.QUEUED:
            trial.status = replace(trial.status, message=seen.sentence)
        job = f"{self._terms.batch.words.title} job {self.number}"
        if began:
            self.give_up(JobState.FAILED, f"{job} was put back into the queue", Mishap.REQUEUED)
        elif seen.never:
            self.give_up(JobState.FAILED, f"{job} will never start: {seen.never}", Mishap.NO_NODES)
        elif self.polling.asked_s - self.polling.submitted_s > self._terms.queue_limit_s:
            self.give_up(
                JobState.FAILED,
                f"{seen.sentence}; it was given up after {in_words(self._terms.queue_limit_s)} in the queue",
                Mishap.NO_NODES,
            )

    def _conclude(self, trial: Trial, report: WorkerReport) -> None:
        sentences = {
            "cancelled": (JobState.CANCELLED, "the run was cancelled"),
            "timeout": (JobState.TIMEOUT, _at_limit(trial)),
            "lease": (JobState.CANCELLED, f"the nodes did not hear of hpltune for {in_words(self._terms.lease_s)}"),
        }
        trial.status = replace(trial.status, started_at=trial.status.started_at or datetime.now(UTC))
        event = None
        if report.why == "cancelled" and self.verdict is not None:
            state, message, event = self.verdict
        elif report.why in sentences:
            state, message = sentences[report.why]
        elif report.exit_code == 0:
            state, message = JobState.COMPLETED, ""
        else:
            said = RunPaths(trial.job.directory).last_words().strip() or self.spool.said()
            state, message = JobState.FAILED, self._launcher.explain(trial.job, report.exit_code or 0, said)
            event = befell(report.exit_code or 0, said)
        trial.finish(state, message, report.exit_code, event)

    def _blame_silent_nodes(self, trial: Trial) -> None:
        """Ask each node of a run that failed; one that does not answer is lost, long before the system says so.

        Slurm takes a node for sound until its daemon was silent for SlurmdTimeout, 300 s by default.
        """
        if self._terms.batch.nodes < 2 or self.verdict is not None:
            return
        try:
            nodes = self._terms.batch.hosts(self.number)
        except RunnerError:
            return
        said = say_all(self._terms.batch.steps(self.number), nodes, ("true",), timeout_s=ANSWER_S)
        self.lost = tuple(node for node, own in said.items() if isinstance(own, UnreachableError) or own.exit_code != 0)
        if self.lost:
            names = ", ".join(self.lost)
            title = self._terms.batch.words.title
            sentence = f"node {names} of {title} job {self.number} does not answer, though {title} does not say so yet"
            trial.status = replace(trial.status, message=sentence, event=Mishap.NODE_LOST, lost_nodes=self.lost)
            self.give_up(JobState.FAILED, sentence, Mishap.NODE_LOST)

    def _end(self, state: JobState, sentence: str, event: Mishap | None = None, failed: tuple[str, ...] = ()) -> None:
        """Finish the trials of an ended job, by the worker's last report unless the system knows why a launcher failed.

        Args:
            failed: the nodes that failed.
        """
        self.over = True
        current, trials = self.trials.current, self.trials.take_all()
        mine = self._seen is None or self._seen.by_its_script
        if current is not None:
            report = _report(self.spool, current, over=True)
            if report.why is not None and (mine or not report.failed):
                self._conclude(current, report)
                trials.remove(current)
        if self.verdict is not None:
            state, sentence, event = self.verdict
        elif state is JobState.CANCELLED:
            state, event = JobState.FAILED, event or Mishap.ENDED_BY_OTHERS
        elif mine:
            unseen = "" if (self.spool.folder / "begun").exists() else f": do its nodes see {self.spool.folder}?"
            said = [line.strip() for line in self.spool.said().splitlines() if line.strip()]
            sentence += f": {said[-1]}" if said else unseen
        for left in trials:
            untold = None if self.verdict or left.status.started_at is None else Mishap.JOB_ENDED
            left.finish(state, sentence, event=event or untold)
            left.status = replace(left.status, lost_nodes=failed)

    def _failed_nodes(self, seen: BatchJob, before: BatchJob | None) -> tuple[str, ...]:
        if seen.event is not Mishap.NODE_LOST:
            return ()
        trial = self.trials.current
        stderr = RunPaths(trial.job.directory).read_stderr() if trial else ""
        try:
            return self._terms.batch.failed_nodes(
                seen.nodes or (before.nodes if before else ""), self.spool.said() + stderr
            )
        except RunnerError:
            return ()


def _at_limit(trial: Trial) -> str:
    return f"stopped at its time limit of {trial.job.walltime_s:.0f} s"


@dataclass
class Polling:
    """The questions to a batch system about one job; times are of this process's monotonic clock.

    Attributes:
        submitted_s: when the job was submitted.
        asked_s: when the system was last asked; at first, when it took the job.
        answered_s: when it answered last; at first, the same.
        pause_s: seconds until it is asked again.
    """

    submitted_s: float = field(default_factory=time.monotonic)
    asked_s: float = field(default_factory=time.monotonic)
    answered_s: float = field(default_factory=time.monotonic)
    pause_s: float = FIRST_PAUSE_S

    @property
    def due(self) -> bool:
        """Whether the system should be asked now."""
        return time.monotonic() >= self.asked_s + self.pause_s

    @property
    def silent(self) -> bool:
        """Whether the system did not answer the last question."""
        return self.answered_s < self.asked_s

    def soon(self) -> None:
        """Ask at the next opportunity."""
        self.pause_s = 0.0

    def answered(self) -> None:
        """Note that the system answered: the next pause is longer."""
        self.asked_s = self.answered_s = time.monotonic()
        self.pause_s = min(LAST_PAUSE_S, max(FIRST_PAUSE_S, 1.5 * self.pause_s))

    def unanswered(self) -> None:
        """Note that the system did not answer."""
        self.asked_s = time.monotonic()
        self.pause_s = LAST_PAUSE_S


def _report(spool: Spool, trial: Trial, *, over: bool = False) -> WorkerReport:
    report = spool.report(trial.number, over=over)
    if report.exit_code != 0:
        return report
    return replace(report, exit_code=int(befell(0, RunPaths(trial.job.directory).last_words()) is Mishap.DAEMON_LOST))
