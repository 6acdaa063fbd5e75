"""The contract of a runner, which every kind of runner fulfils; `tests/contracts` checks that."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from types import TracebackType
from typing import NewType, Self

from .errors import Mishap
from .job import Job


class JobState(IntEnum):
    """The states of a job, in its order; TIMEOUT is not FAILED, because a longer walltime might have helped."""

    QUEUED = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3
    TIMEOUT = 4
    CANCELLED = 5

    @property
    def final(self) -> bool:
        """Whether the job has ended, so that its state no longer changes."""
        return self >= JobState.COMPLETED


@dataclass(frozen=True)
class ProcessUse:
    """What the processes of a job used, which its launcher waited for.

    Attributes:
        cpu_s: of all of them together.
        largest_bytes: of memory that one of them had at once; 0 where that is not known.
        rank_cpu_s: CPU time of each rank with all that it started, when it was last looked at; less than it used.
    """

    cpu_s: float
    largest_bytes: int
    rank_cpu_s: Mapping[int, float]


@dataclass(frozen=True)
class JobStatus:
    """The status of a job at one moment.

    Attributes:
        exit_code: exit code of the launcher; negative for a signal, None while it runs.
        event: what befell it that is not its program's doing; None where nothing is known of that.
        lost_nodes: nodes of the job that were lost, or are back after that.
        message: one sentence why it waits or why it did not complete; "" while it runs or is COMPLETED.
        used: what its processes used; None where that is not known, as while it runs, and of other hosts.
    """

    state: JobState
    exit_code: int | None = None
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    event: Mishap | None = None
    lost_nodes: tuple[str, ...] = ()
    used: ProcessUse | None = None


JobId = NewType("JobId", str)


class Runner(ABC):
    """Starts jobs, reports their status, and ends them."""

    @abstractmethod
    def submit(self, job: Job) -> JobId:
        """Start or queue a job. Any thread may call this, and it may end before the job does.

        On success the job's folder holds `command`, and `stdout` and `stderr` grow there. After an error no process of
        the job runs.

        Raises:
            InvalidJobError: this runner will never take such a job.
            SubmitError: the job could not be started now.
            OSError: the job's folder cannot be written, or this system starts no further program.
        """

    @abstractmethod
    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        """Return the status of several jobs, and end those that are past their walltime.

        When a status is final, the output is complete and no process of the job is left, except for processes that the
        kernel cannot end yet.

        Raises:
            KeyError: an id is not from this runner.
        """

    @abstractmethod
    def cancel(self, ids: Collection[JobId]) -> None:
        """End jobs and return when their status is final; a job that has already ended keeps its status."""

    @abstractmethod
    def close(self) -> None:
        """End everything that still runs; the runner then takes no further job."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
