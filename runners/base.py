"""The contract of a runner: every place a job can run at fulfils it, and `tests/contracts` checks that."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import NewType, Self

from .job import Job
from .status import JobStatus

JobId = NewType("JobId", str)


class Runner(ABC):
    """Starts jobs, says where they are, and ends them."""

    @abstractmethod
    def submit(self, job: Job) -> JobId:
        """Start a job, or queue it; from any thread, which may end before the job does.

        After success the job's folder holds `command`, and `stdout` and `stderr` grow there. After an error nothing
        of the job runs.

        Raises:
            InvalidJobError: this runner will never take such a job.
            SubmitError: it could not be started now.
            OSError: its folder cannot be written, or this system starts no further program.
        """

    @abstractmethod
    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        """Where these jobs are; one call serves many. A job past its walltime is ended by this call.

        When a status is final, no process of the job is left, but for those that the kernel does not let end yet, and
        its output is complete.

        Raises:
            KeyError: an id that this runner did not give.
        """

    @abstractmethod
    def cancel(self, ids: Collection[JobId]) -> None:
        """End jobs, and return when their status is final; one that has ended stays as it ended."""

    @abstractmethod
    def close(self) -> None:
        """End everything that still runs. The runner takes no further job."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
