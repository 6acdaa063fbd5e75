"""The trials of an allocation, which its worker runs one after another."""

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

    def finish(self, state: JobState, message: str, exit_code: int | None = None) -> None:
        """Set its final status."""
        now = datetime.now(UTC)
        self.status = replace(self.status, state=state, exit_code=exit_code, message=message, ended_at=now)


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
