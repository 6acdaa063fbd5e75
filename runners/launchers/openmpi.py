"""Open MPI 4 and 5: `mpirun`."""

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from ..job import Job

_OBJECTS = {"l3cache": "l3cache", "numa": "numa", "socket": "package"}

_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"not enough slots available", "mpirun sees fewer cores than ranks: choose a layout with fewer ranks"),
    (r"More processes requested than allocated|overload-allowed", "mpirun cannot give each rank cores of its own"),
    (r"unable to find the specified executable file|Unable to find|could not find anything to do",
     "mpirun cannot find the program: it is missing or not executable"),
    (r"Exec format error", "the program is not one this machine can execute"),
    (r"error while loading shared libraries: ([^\n]+)", r"the program cannot load a library: \1"),
    (r"Need at least (\d+) processes", r"HPL.dat needs \1 ranks"),
    (r"exited on signal 9 \(Killed\)", "a rank was killed (signal 9): often the kernel, for want of memory; see dmesg"),
    (r"exited on signal 4 ", "a rank met an instruction this CPU does not have: the BLAS kernel does not fit the CPU"),
    (r"exited on signal (\d+) \(([^)]+)\)", r"a rank was ended by signal \1 (\2)"),
    (r"exited with (?:non-zero status|status (\d+))|Exit code:\s+(\d+)", "a rank ended with an error"),
    (r"MPI_ABORT was invoked on rank (\d+)", r"rank \1 aborted the run"),
    (r"allow-run-as-root", "mpirun refuses to run as root"),
    (r"No space left on device", "the disk is full"),
)  # fmt: skip
"""What Open MPI prints, and what it means; the first that matches counts."""


FIRST_SIGNAL = 128
"""What shells and mpirun add to the number of a signal to make an exit code."""


@dataclass(frozen=True)
class OpenMpi:
    """Command lines of one Open MPI.

    Attributes:
        mpirun: absolute path.
        major: 4 or 5; they spell some options differently.
        as_root: mpirun is started by root and must be told that this is meant.
    """

    mpirun: Path
    major: int
    as_root: bool

    @classmethod
    def installed(cls, mpirun: Path, version: str) -> "OpenMpi":
        """The launcher of an installation, for the user who runs this."""
        return cls(mpirun, int(version.split(".", maxsplit=1)[0]), os.geteuid() == 0)

    def command(self, job: Job) -> list[str]:
        """The tokens: ranks, where they are bound, their variables, MCA parameters, the program."""
        argv = [str(self.mpirun)]
        if self.as_root:
            argv.append("--allow-run-as-root")
        argv += ["-np", str(job.ranks), *self._binding(job), "-wdir", str(job.directory)]
        for name, value in sorted(job.mpi_parameters.items()):
            argv += ["--mca", name, value]
        for name, value in sorted(job.environment.items()):
            argv += ["-x", f"{name}={value}"]
        return [*argv, *job.program]

    def explain(self, exit_code: int, stderr: str) -> str:
        """What Open MPI said, in one sentence; a code above 128 is the signal that ended a rank."""
        said = stderr
        if FIRST_SIGNAL < exit_code < FIRST_SIGNAL + signal.NSIG:
            number = exit_code - FIRST_SIGNAL
            said += f"\nexited on signal {number} ({signal.strsignal(number)})"
        for pattern, sentence in _SAYINGS:
            match = re.search(pattern, said)
            if match:
                return match.expand(sentence) if "\\" in sentence else sentence
        last = [line.strip() for line in stderr.splitlines() if line.strip(" -") and not line.startswith("hpltune-")]
        ended = f"mpirun ended by signal {-exit_code}" if exit_code < 0 else f"mpirun ended with code {exit_code}"
        return f"{ended}: {last[-1]}" if last else ended

    def _binding(self, job: Job) -> list[str]:
        over = ":OVERSUBSCRIBE" if job.oversubscribe else ""
        threads = job.threads_per_rank
        if job.binding == "none" or job.oversubscribe:
            return ["--map-by", f"slot{over}", "--bind-to", "none"]
        if job.binding == "core":
            return ["--map-by", f"slot:PE={threads}{over}", "--bind-to", "core"]
        name = _OBJECTS[job.binding] if self.major >= 5 else job.binding
        return ["--map-by", f"{name}{over}", "--bind-to", name]
