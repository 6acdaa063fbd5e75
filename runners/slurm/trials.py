"""The trials of one allocation: the worker takes one after another."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ..base import JobId
from ..job import Job
from ..status import JobState, JobStatus
from .spool import Spool


@dataclass(eq=False)
class Trial:
    """One of our jobs.

    Attributes:
        number: in its allocation, once it was handed over; 0 before.
        deadline_s: of this process's monotonic clock, by which its end should be known.
        stopped_s: of that clock, when the worker was told to end it; 0 before.
    """

    job: Job
    mark: JobId
    argv: Sequence[str]
    status: JobStatus = field(default_factory=lambda: JobStatus(JobState.QUEUED))
    number: int = 0
    deadline_s: float = float("inf")
    stopped_s: float = 0.0

    def finish(self, state: JobState, message: str, exit_code: int | None = None) -> None:
        """End it."""
        now = datetime.now(UTC)
        self.status = replace(self.status, state=state, exit_code=exit_code, message=message, ended_at=now)


class TrialQueue:
    """Trials that wait, and the one that the worker has."""

    def __init__(self, spool: Spool) -> None:
        self.current: Trial | None = None
        self._spool = spool
        self._waiting: deque[Trial] = deque()
        self._given = 0

    @property
    def idle(self) -> bool:
        """Whether there is no trial."""
        return self.current is None and not self._waiting

    def add(self, trial: Trial) -> None:
        """Have a trial run after those before it."""
        self._waiting.append(trial)
        self._hand_over()

    def drop_current(self) -> None:
        """Hand over the next trial: the current one has ended."""
        self.current = None
        self._hand_over()

    def withdraw(self, trial: Trial) -> None:
        """Cancel a trial that waits; nothing happens where it does not."""
        if trial in self._waiting:
            self._waiting.remove(trial)
            trial.finish(JobState.CANCELLED, "the run was cancelled")

    def take_all(self) -> list[Trial]:
        """Take out all trials, the current one first."""
        trials = [*([] if self.current is None else [self.current]), *self._waiting]
        self.current = None
        self._waiting.clear()
        return trials

    def _hand_over(self) -> None:
        """Give the worker the next trial, if it has none."""
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
