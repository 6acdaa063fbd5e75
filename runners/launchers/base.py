"""The contract of a launcher."""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import InvalidJobError
from ..job import Job

FIRST_SIGNAL = 128
"""The number that shells and launchers add to a signal to make an exit code."""


def on_interfaces(job: Job) -> dict[str, str]:
    """Return variables that name a job's interfaces to UCX and to libfabric's TCP; a library uses one of the two."""
    if not job.interfaces:
        return {}
    return {"UCX_NET_DEVICES": ",".join(job.interfaces), "FI_TCP_IFACE": job.interfaces[0]}


def last_words(program: str, exit_code: int, said: str) -> str:
    """Say how a launcher ended, with the last line that it or a rank printed; our own reports are skipped."""
    last = [line.strip() for line in said.splitlines() if line.strip(" -=") and not line.startswith("hpltune-")]
    if exit_code >= 0:
        return f"{program} ended with code {exit_code}{f': {last[-1]}' if last else ''}"
    why = ": often by the kernel for want of memory" if -exit_code == signal.SIGKILL else ""
    ended = f"{program} was ended by signal {-exit_code} ({signal.strsignal(-exit_code)}){why}"
    return f"{ended}; its last words: {last[-1]}" if last else ended


class Launcher(Protocol):
    """An MPI library's way of starting ranks."""

    def command(self, job: Job) -> list[str]:
        """Return the command line of a job as tokens; it depends on the job only."""
        ...

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Return the sentence why the launcher of a job failed, from its output."""
        ...


@dataclass(frozen=True)
class ByMpi:
    """Launches each job with the launcher of its MPI library."""

    launchers: Mapping[str, Launcher]

    def command(self, job: Job) -> list[str]:
        """Return the command line that the launcher of the job's MPI library makes.

        Raises:
            InvalidJobError: there is no launcher of this name.
        """
        return self._of(job).command(job)

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Return the explanation that the launcher of the job's MPI library gives."""
        return self._of(job).explain(job, exit_code, said)

    def _of(self, job: Job) -> Launcher:
        if job.mpi not in self.launchers:
            known = ", ".join(self.launchers) or "none"
            raise InvalidJobError(f"ranks of {job.mpi or 'an unknown MPI'} cannot be started here (known: {known})")
        return self.launchers[job.mpi]


def explained(sayings: Sequence[tuple[str, str]], texts: Sequence[str]) -> str | None:
    """Return the sentence of the first pattern that matches, with its groups filled in; None without a match."""
    for text in texts:
        for pattern, sentence in sayings:
            match = re.search(pattern, text)
            if match:
                return match.expand(sentence) if "\\" in sentence else sentence
    return None


def signal_of(exit_code: int) -> str:
    """Name the signal in an exit code above 128, in the words of a shell; "" where there is none."""
    number = exit_code - FIRST_SIGNAL
    return f"exited on signal {number} ({signal.strsignal(number)})" if 0 < number < signal.SIGRTMIN else ""
