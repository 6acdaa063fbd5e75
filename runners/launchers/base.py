"""The contract of a launcher."""

from typing import Protocol

from ..job import Job


class Launcher(Protocol):
    """Knows one MPI library's way of starting ranks."""

    def command(self, job: Job) -> list[str]:
        """The command line of a job as tokens; looks at nothing but the job."""
        ...

    def explain(self, exit_code: int, stderr: str) -> str:
        """Why the launcher failed, as one sentence made of what it said."""
        ...
