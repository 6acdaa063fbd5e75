"""The contract of a launcher."""

from typing import Protocol

from ..job import Job


def last_words(program: str, exit_code: int, stderr: str) -> str:
    """How a launcher ended, with the last line that it or a rank printed; our own reports are passed over."""
    last = [line.strip() for line in stderr.splitlines() if line.strip(" -") and not line.startswith("hpltune-")]
    ended = f"{program} ended by signal {-exit_code}" if exit_code < 0 else f"{program} ended with code {exit_code}"
    return f"{ended}: {last[-1]}" if last else ended


class Launcher(Protocol):
    """Knows one MPI library's way of starting ranks."""

    def command(self, job: Job) -> list[str]:
        """The command line of a job as tokens; looks at nothing but the job."""
        ...

    def explain(self, exit_code: int, stderr: str) -> str:
        """Why the launcher failed, as one sentence made of what it said."""
        ...
