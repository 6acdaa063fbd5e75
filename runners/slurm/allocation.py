"""One Slurm job of ours and the trials it was given."""

import contextlib
import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..base import JobId
from ..errors import RunnerError, SubmitError
from ..job import Job
from ..launchers.base import Launcher
from ..paths import RunPaths
from ..status import JobState, JobStatus
from . import client
from .duration import in_words
from .nodes import out_of_service
from .options import SlurmOptions
from .queue import Queued
from .spool import Report, Spool
from .states import ended, never_starts, outcome, waits, why_it_waits

FIRST_LOOK_S, LAST_LOOK_S, ENDING_LOOK_S = 0.1, 10.0, 1.0
"""Pauses between two questions to Slurm: short at first and while a job ends, otherwise such that no site minds."""
SILENCE_S = 900.0
"""How long slurmctld may say nothing; a restart with a large queue takes minutes."""
LATE_S = 120.0
"""What the worker gets after a trial's walltime to end it and to say so."""
_FAILED_NODE = re.compile(r"[Nn]ode failure on (\S+)")


@dataclass
class Trial:
    """One of our jobs.

    Attributes:
        number: in its allocation, once it was handed over; 0 before.
        deadline_s: of this process's monotonic clock, by which its end should be known.
    """

    job: Job
    mark: JobId
    argv: Sequence[str]
    status: JobStatus = field(default_factory=lambda: JobStatus(JobState.QUEUED))
    number: int = 0
    deadline_s: float = float("inf")


class Allocation:
    """A Slurm job with our worker in it, which takes one trial after another."""

    def __init__(self, options: SlurmOptions, launcher: Launcher, folder: Path, time_s: float) -> None:
        """Submit it.

        Args:
            folder: new, on a file system that all nodes share.

        Raises:
            InvalidJobError, SubmitError: Slurm does not take it.
        """
        self._options = options
        self._launcher = launcher
        self._time_s = time_s
        try:
            self.spool = Spool(folder, options.lease_s, once=not options.reuse)
        except OSError as error:
            raise SubmitError(f"{folder} cannot be made: {error.strerror}", transient=False) from error
        try:
            self.number = client.submit(options, time_s, self.spool.log, self.spool.script)
        except RunnerError:
            self.spool.remove()
            raise
        self._submitted_s = self._looked_s = time.monotonic()
        self._pause_s = FIRST_LOOK_S
        self._heard_s = self._submitted_s
        self._seen: Queued | None = None
        self._verdict: tuple[JobState, str] | None = None
        self._waiting: deque[Trial] = deque()
        self._current: Trial | None = None
        self._given = 0
        self._doubted = self._sure = False
        self._stopped_s = 0.0
        self._failed: tuple[str, ...] = ()
        self.over = False

    def add(self, trial: Trial) -> None:
        """Have a trial run after those before it."""
        self._waiting.append(trial)
        self._next()

    def left_s(self) -> float:
        """Seconds until its time limit; all of it before it has begun."""
        if self._seen is None or self._seen.left_s is None or waits(self._seen.state):
            return self._time_s
        return self._seen.left_s - (time.monotonic() - self._heard_s)

    @property
    def given_up(self) -> bool:
        """Whether it is being ended."""
        return self._verdict is not None

    @property
    def silent(self) -> bool:
        """Whether Slurm did not answer when it was asked last."""
        return self._heard_s < self._looked_s

    @property
    def idle(self) -> bool:
        """Whether it has no trial."""
        return self._current is None and not self._waiting

    def due(self) -> bool:
        """Whether Slurm should be asked about it now."""
        return not self.over and time.monotonic() >= self._looked_s + self._pause_s

    def ask_soon(self) -> None:
        """Have the next look not wait."""
        self._pause_s = 0.0

    def read(self) -> None:
        """Take in what the worker has said."""
        trial = self._current
        if trial is None or self.over:
            return
        report = self.spool.report(trial.number)
        if report.why is not None:
            if report.failed and not self._sure:
                self._raise_time_estimate()
                return
            self._conclude(trial, report)
            self._current = None
            self._doubted = self._sure = False
            self._next()
        elif report.started and trial.status.state is JobState.QUEUED:
            trial.status = JobStatus(JobState.RUNNING, started_at=datetime.now(UTC))
            trial.deadline_s = time.monotonic() + trial.job.walltime_s + LATE_S
        elif time.monotonic() > trial.deadline_s:
            self.give_up(JobState.TIMEOUT, f"{_at_limit(trial)}, and the worker on the first node does not answer")

    def note(self, seen: Queued | None) -> None:
        """Take in what Slurm says; None where it does not know the job any more."""
        now = self._looked_s = self._heard_s = time.monotonic()
        self._pause_s = min(LAST_LOOK_S, max(FIRST_LOOK_S, 1.5 * self._pause_s))
        before, self._seen = self._seen, seen
        if seen is None:
            self._end(JobState.FAILED, f"Slurm does not know job {self.number} any more")
        elif ended(seen.state):
            self._failed = self._failed_nodes(seen, before)
            self._end(*outcome(seen, ", ".join(self._failed)))
        elif self._verdict is not None:
            self._tell()
        elif waits(seen.state):
            self._wait(seen, now)
        else:
            self._sure = self._doubted and seen.state == "RUNNING"
            if seen.state != "RUNNING":
                self._pause_s = min(self._pause_s, ENDING_LOOK_S)

    def unheard(self, error: RunnerError) -> None:
        """Slurm does not answer: no failure of a run, unless nothing else is known of it for long."""
        now = self._looked_s = time.monotonic()
        self._pause_s = LAST_LOOK_S
        running = self._current is not None and self._current.status.state is JobState.RUNNING
        late = self._current is not None and now > self._current.deadline_s
        self._sure = self._doubted
        if now - self._heard_s > SILENCE_S and (late or not running):
            self._end(JobState.FAILED, f"nothing was heard for {in_words(SILENCE_S)} of job {self.number}: {error}")

    def stop(self, trial: Trial) -> None:
        """Have a trial ended; its status says when that is done."""
        if trial is self._current:
            self.spool.stop(trial.number, trial.mark)
            self._stopped_s = time.monotonic()
            self.ask_soon()
        elif trial in self._waiting:
            self._waiting.remove(trial)
            _finish(trial, JobState.CANCELLED, "the run was cancelled")

    def withdraw(self, trial: Trial) -> bool:
        """Take back a stopped trial where the job has no nodes yet: a worker that comes later reads "stop"."""
        waiting = self._seen is not None and waits(self._seen.state) and self._heard_s > self._stopped_s
        if trial is self._current and waiting and not self.spool.report(trial.number).started:
            _finish(trial, JobState.CANCELLED, "the run was cancelled")
            self._current = None
            self._next()
        return trial.status.state.final

    def give_up(self, state: JobState, sentence: str) -> None:
        """End it; its trials end with this once Slurm says that nothing is left."""
        if self._verdict is None:
            self._verdict = (state, sentence)
            self.ask_soon()
            self._tell()

    def _tell(self) -> None:
        """Have the worker leave and Slurm end the job; said again at each look until it has ended."""
        with contextlib.suppress(OSError, SubmitError):
            self.spool.leave()
        with contextlib.suppress(SubmitError):
            client.cancel([self.number])

    def _raise_time_estimate(self) -> None:
        """A launcher failed: Slurm is asked first, as it may know better why."""
        if not self._doubted:
            self._doubted = True
            self.ask_soon()

    def _wait(self, seen: Queued, now: float) -> None:
        trial = self._current
        if trial is not None and trial.status.state is JobState.QUEUED:
            trial.status = replace(trial.status, message=why_it_waits(seen))
        never = never_starts(seen.reason)
        if never:
            self.give_up(JobState.FAILED, f"Slurm job {self.number} will never start: {never}")
        elif now - self._submitted_s > self._options.queue_limit_s:
            limit = in_words(self._options.queue_limit_s)
            self.give_up(JobState.FAILED, f"{why_it_waits(seen)}; it was given up after {limit} in the queue")

    def _next(self) -> None:
        if self._current is not None or not self._waiting or self.over:
            return
        trial = self._waiting.popleft()
        self._given += 1
        trial.number = self._given
        try:
            self.spool.hand_over(trial.number, trial.mark, trial.job.walltime_s, trial.job.directory, trial.argv)
        except OSError as error:
            _finish(trial, JobState.FAILED, f"{self.spool.folder} cannot be written: {error.strerror}")
            return
        self._current = trial

    def _conclude(self, trial: Trial, report: Report) -> None:
        sentences = {
            "cancelled": (JobState.CANCELLED, "the run was cancelled"),
            "timeout": (JobState.TIMEOUT, _at_limit(trial)),
            "lease": (JobState.CANCELLED, f"the nodes did not hear of hpltune for {in_words(self._options.lease_s)}"),
        }
        if report.why == "cancelled" and self._verdict is not None:
            state, message = self._verdict
        elif report.why in sentences:
            state, message = sentences[report.why]
        elif report.exit_code == 0:
            state, message = JobState.COMPLETED, ""
        else:
            said = RunPaths(trial.job.directory).last_words().strip() or self.spool.said()
            state, message = JobState.FAILED, self._launcher.explain(trial.job, report.exit_code or 0, said)
        _finish(trial, state, message, report.exit_code)

    def _end(self, state: JobState, sentence: str) -> None:
        """The job is over: what the worker still said counts, unless Slurm knows better why a launcher failed."""
        self.over = True
        trial, self._current = self._current, None
        mine = self._seen is None or self._seen.state in {"COMPLETED", "FAILED"}
        if trial is not None:
            report = self.spool.report(trial.number)
            if report.why is not None and (mine or not report.failed):
                self._conclude(trial, report)
            else:
                self._waiting.appendleft(trial)
        if self._verdict is not None:
            state, sentence = self._verdict
        elif mine:
            sentence = f"{sentence}{self._last_words()}"
        for left in self._waiting:
            _finish(left, state, sentence)
            left.status = replace(left.status, lost_nodes=self._failed)
        self._waiting.clear()

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.spool.said().splitlines() if line.strip()]
        if lines:
            return f": {lines[-1]}"
        return "" if (self.spool.folder / "begun").exists() else f": do its nodes see {self.spool.folder}?"

    def _failed_nodes(self, seen: Queued, before: Queued | None) -> tuple[str, ...]:
        """The nodes that failed: as srun named it, or what is out of service; none where none is known."""
        if seen.state not in {"NODE_FAIL", "BOOT_FAIL", "RECONFIG_FAIL"}:
            return ()
        stderr = RunPaths(self._current.job.directory).read_stderr() if self._current else ""
        match = _FAILED_NODE.search(self.spool.said() + stderr)
        if match:
            return (match[1],)
        try:
            return out_of_service(client.nodes_of(nodes=seen.nodes or (before.nodes if before else "") or None))
        except RunnerError:
            return ()


def _at_limit(trial: Trial) -> str:
    return f"stopped at its time limit of {trial.job.walltime_s:.0f} s"


def _finish(trial: Trial, state: JobState, message: str, exit_code: int | None = None) -> None:
    trial.status = replace(trial.status, state=state, exit_code=exit_code, message=message, ended_at=datetime.now(UTC))
