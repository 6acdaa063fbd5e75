"""The status of a job.

QUEUED -> RUNNING -> COMPLETED | FAILED | TIMEOUT | CANCELLED; a job never goes back, and a final state never changes.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum


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
class JobStatus:
    """The status of a job at one moment.

    Attributes:
        exit_code: exit code of the launcher; negative for a signal, None while it runs.
        lost_nodes: nodes of the job that did not answer when it had ended.
        message: one sentence why it waits or why it did not complete; "" while it runs or is COMPLETED.
    """

    state: JobState
    exit_code: int | None = None
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    lost_nodes: tuple[str, ...] = ()
