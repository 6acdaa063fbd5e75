"""The contract of a launcher."""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import InvalidJobError
from ..job import Job

FIRST_SIGNAL = 128
"""What shells and launchers add to the number of a signal to make an exit code."""


def on_interfaces(job: Job) -> dict[str, str]:
    """Variables that name a job's interfaces to UCX and to libfabric's TCP, whichever a library was built with."""
    if not job.interfaces:
        return {}
    return {"UCX_NET_DEVICES": ",".join(job.interfaces), "FI_TCP_IFACE": job.interfaces[0]}


def last_words(program: str, exit_code: int, said: str) -> str:
    """How a launcher ended, with the last line that it or a rank printed; our own reports are passed over."""
    last = [line.strip() for line in said.splitlines() if line.strip(" -=") and not line.startswith("hpltune-")]
    if exit_code >= 0:
        return f"{program} ended with code {exit_code}{f': {last[-1]}' if last else ''}"
    why = ": often by the kernel for want of memory" if -exit_code == signal.SIGKILL else ""
    ended = f"{program} was ended by signal {-exit_code} ({signal.strsignal(-exit_code)}){why}"
    return f"{ended}; its last words: {last[-1]}" if last else ended


class Launcher(Protocol):
    """Knows one MPI library's way of starting ranks."""

    def command(self, job: Job) -> list[str]:
        """The command line of a job as tokens; looks at nothing but the job."""
        ...

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Why the launcher of a job failed, as one sentence made of what it said."""
        ...


@dataclass(frozen=True)
class ByMpi:
    """Launches each job with the launcher of its MPI library."""

    launchers: Mapping[str, Launcher]

    def command(self, job: Job) -> list[str]:
        """As the launcher of the job's MPI library has it.

        Raises:
            InvalidJobError: there is none of that name.
        """
        return self._of(job).command(job)

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """As the launcher of the job's MPI library has it."""
        return self._of(job).explain(job, exit_code, said)

    def _of(self, job: Job) -> Launcher:
        if job.mpi not in self.launchers:
            known = ", ".join(self.launchers) or "none"
            raise InvalidJobError(f"ranks of {job.mpi or 'an unknown MPI'} cannot be started here (known: {known})")
        return self.launchers[job.mpi]


def explained(sayings: Sequence[tuple[str, str]], texts: Sequence[str]) -> str | None:
    """The sentence of the first pattern found, filled with what it matched; None where nothing is known."""
    for text in texts:
        for pattern, sentence in sayings:
            match = re.search(pattern, text)
            if match:
                return match.expand(sentence) if "\\" in sentence else sentence
    return None


def signal_of(exit_code: int) -> str:
    """The signal in an exit code above 128, in the words of a shell; "" where it holds none."""
    number = exit_code - FIRST_SIGNAL
    return f"exited on signal {number} ({signal.strsignal(number)})" if 0 < number < signal.SIGRTMIN else ""
