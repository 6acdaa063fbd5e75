"""The contract of a runner, which every kind of runner fulfils; `tests/contracts` checks that."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import NewType, Self

from .job import Job
from .status import JobStatus

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
