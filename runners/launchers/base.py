"""The contract of a launcher."""

import os
import re
import signal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import InvalidJobError, Mishap
from ..job import Job

MOST_CHARACTERS = 480
"""Of a launcher's message in a sentence: Open MPI's longest boxes, without what they repeat."""
_OWN = re.compile(r"(?:\[[\w.:-]+(?:@[\w.-]+)?\]\s*)(?:\[\[[\d,]+\],\d+\]\s*)?|\[[^\]]*@[^\]]*\]\s*")
"""What Open MPI and Hydra write before a line: host and process, as `[node:123] [[5695,0],0]` or `[mpiexec@node]`."""
_RULE = re.compile(r"-{20,}")
_NOISE = re.compile(
    r"\] \[ ?\d+\] |Signal code:|Failing at address|Process received signal|End of error message|"
    r"Forwarding signal|abort is already in progress|^$"
)
"""Lines that tell nothing: a stack, addresses, and what mpirun says of its own end."""
_OF_LAUNCHER = re.compile(
    r"=|mpirun|mpiexec|prterun|srun:|slurmstepd:|YOUR APPLICATION TERMINATED|This typically refers to|"
    r"Please see the FAQ|#\d+ "
)
"""How lines on a rank's standard error begin that are not of its program, or of its stack."""
_LAST_LINES, _MOST_OF_RANKS = 2, 200
"""Lines and characters of a program's own words in a sentence."""
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
TOO_FEW_FILES = "MPI may not open enough files at once: raise the limit (`ulimit -n`, in containers `--ulimit nofile`)"
INHERITED = "; set in this environment, and perhaps why: "
UCX = "UCX_NET_DEVICES"
"""The variable that limits UCX to some devices; of an InfiniBand port it knows the device, not the interface."""
FIRST_SIGNAL = 128
"""The number that shells and launchers add to a signal to make an exit code."""
_EVENTS: tuple[tuple[str, Mishap | None], ...] = (
    (r"execvp error|host information for|(?:exited on\s+signal|KILLED BY SIGNAL:|EXIT CODE:) (?:4|6|7|8|11)\b", None),
    (r"lost communication with a? ?(?:remote )?daemon|daemon exited unexp|error: Node failure on|Unable to run bstrap",
     Mishap.DAEMON_LOST),
    (r"exited on\s+signal 9\b|KILLED BY SIGNAL: 9\b|EXIT CODE: 9\b|tasks? [\d,-]+: Killed|(?i:oom.kill|out.of.memory)",
     Mishap.KILLED),
    (r"process manager error waiting for completion", Mishap.KILLED),
    (r"OUT-OF-RESOURCE[\s\S]*dstore", Mishap.DISK_FULL),
    (r"gave the job .*, and nodes = \d+ was asked for", Mishap.NO_NODES),
)  # fmt: skip
"""Messages of all launchers that tell what befell a launch; the first that matches counts."""
_ENDED_ON = re.compile(r"on node (\S+)\s+exited|RUNNING AT (\S+)|error: (\S+): tasks? ")
"""Where a rank ended, in the words of launchers."""
_OF_MPI = ("OMPI_MCA_", "OPAL_", "PMIX_", "PRTE_", "MPICH_", "MPIR_CVAR_", "HYDRA_", "I_MPI_", "UCX_", "FI_")
"""Prefixes of the variables that Open MPI, MPICH, Intel MPI and the libraries below them read."""


def inherited_mpi(ours: Collection[str] = ()) -> dict[str, str]:
    """Return this process's variables that MPI libraries read.

    Args:
        ours: names that hpltune sets itself.
    """
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(_OF_MPI) and name not in ours}


def assignments(variables: Mapping[str, str]) -> str:
    """Write variables as people set them."""
    return " ".join(f"{name}={value}" for name, value in variables.items())


def on_interfaces(job: Job) -> dict[str, str]:
    """Return variables that name a job's interfaces to UCX and to libfabric's TCP; a library uses one of the two."""
    devices = ",".join(job.ucx_devices or job.interfaces)
    return {UCX: devices, "FI_TCP_IFACE": job.interfaces[0]} if job.interfaces else {}


def befell(exit_code: int, said: str) -> Mishap | None:
    """Return what befell a launch, as its launcher ended and said; None where that tells nothing.

    Open MPI 5 ends with 0 after it has lost a daemon.
    """
    texts = (said, signal_of(exit_code if exit_code > 0 else FIRST_SIGNAL - exit_code))
    return next((event for pattern, event in _EVENTS for text in texts if re.search(pattern, text)), None)


def ended_on(said: str) -> str:
    """Return the host on which a rank ended, as its launcher names it; "" where it names none."""
    match = _ENDED_ON.search(said)
    return next(filter(None, match.groups()), "") if match else ""


def last_words(program: str, exit_code: int, said: str) -> str:
    """Say how a launcher ended, with its own message from the first line on, or else the last line of a rank."""
    words = message(said)
    if exit_code >= 0:
        return f"{program} ended with code {exit_code}{f': {words}' if words else ''}"
    why = ": often by the kernel for want of memory" if -exit_code == signal.SIGKILL else ""
    ended = f"{program} was ended by signal {-exit_code} ({signal.strsignal(-exit_code)}){why}"
    return f"{ended}; its last words: {words}" if words else ended


def unknown_end(job: Job, program: str, exit_code: int, said: str) -> str:
    """As `last_words`, and with the variables of MPI that the launcher inherited: nobody knows whether they are why.

    Open MPI 5 may lose its message. Where a launcher wrote nothing and its ranks did, its exit code is that of a rank,
    unless it is 1: with that a launcher ends by itself, too.
    """
    words = words_of_ranks(said)
    if exit_code > 1 and words and not any(map(_of_launcher, said.splitlines())):
        return f"a rank ended with code {exit_code}; its last words: {words}"
    inherited = inherited_mpi(job.launcher_environment)
    ended = last_words(program, exit_code, said)
    return f"{ended}{INHERITED}{assignments(inherited)}" if inherited else ended


def message(said: str) -> str:
    """Return what a launcher wrote, whole up to MOST_CHARACTERS; of a program that wrote none, the last line.

    Open MPI writes boxes between lines of dashes, and lines that begin with host and process. Those of the second kind
    before a box tell why the box came. Traces of the stack and our own reports are left out.
    """
    lines = [_plain(line) for line in said.splitlines() if not line.startswith("hpltune-")]
    told = [line for line in lines if line.strip(" -=*") and not _NOISE.search(line)]
    own = [at for at, line in enumerate(lines) if _RULE.fullmatch(line)]
    if len(own) > 1:
        before = [line for line in lines[: own[0]] if _OWN.match(line)]
        told = [line for line in (*before, *lines[own[0] :]) if line.strip(" -=*") and not _NOISE.search(line)]
    elif any(_OWN.match(line) for line in told):
        told = [line for line in told if _OWN.match(line)]
    else:
        told = told[-1:]
    text = " ".join(" ".join(dict.fromkeys(_OWN.sub("", line).strip() for line in told)).split())
    return _bounded(text, MOST_CHARACTERS)


def words_of_ranks(said: str) -> str:
    """Return the last lines that the program of ranks wrote, bounded and printable; "" where it wrote none.

    Lines of launchers, boxes of Open MPI, traces of the stack and our own reports are left out.
    """
    told, boxed = [], False
    for text in map(_plain, said.splitlines()):
        if _RULE.fullmatch(text):
            boxed = not boxed
        elif not boxed and text.strip("-=*. ") and not text.startswith("hpltune-") and not _of_launcher(text):
            told.append(text)
    return _bounded(" ".join(list(dict.fromkeys(told))[-_LAST_LINES:]), _MOST_OF_RANKS)


def _of_launcher(line: str) -> bool:
    return any(no.match(line) for no in (_RULE, _OWN, _OF_LAUNCHER))


def _plain(line: str) -> str:
    """Return a line without colours, and with single spaces for what cannot be printed."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in _COLOUR.sub("", line)).split())


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4].rsplit(' ', 1)[0]} ..."


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
            if match := re.search(pattern, text):
                return match.expand(sentence) if "\\" in sentence else sentence
    return None


def signal_of(exit_code: int) -> str:
    """Name the signal in an exit code above 128, in the words of a shell; "" where there is none."""
    number = exit_code - FIRST_SIGNAL
    return f"exited on signal {number} ({signal.strsignal(number)})" if 0 < number < signal.SIGRTMIN else ""
