"""MPICH, with Hydra's `mpiexec`, and Intel MPI, whose mpiexec is also a Hydra."""

from dataclasses import dataclass
from pathlib import Path

from ..forwarded import require_plain, require_variables
from ..hosts.host_names import launcher_name
from ..job import Job
from .base import TOO_FEW_FILES, explained, on_interfaces, signal_of, unknown_end

SAYINGS: tuple[tuple[str, str], ...] = (
    (r"Too many open files", TOO_FEW_FILES),
    (r"error while loading shared libraries: ([^\n]+)", r"the program cannot load a library: \1"),
    (r"execvp error on file (\S+) \(([^)]+)\)", r"the program \1 cannot be started (\2)"),
    (r"HYDU_create_process .*execvp error[^(]*\(([^)]+)\)", r"the launch agent cannot be started (\1)"),
    (r"Need at least (\d+) processes", r"HPL.dat needs \1 ranks"),
    (r"unable to (?:find|get) host information for (\S+)|unable to (?:resolve|change to) host (\S+)",
     r"mpiexec does not know the host \1"),
    (r"unable to get network interface IP",
     "mpiexec finds no IPv4 address on its interface, and speaks no IPv6: give it one, or use Open MPI"),
    (r"Unable to run bstrap_proxy on (\S+)", r"Intel MPI's daemon on \1 could not be started, or was lost"),
    (r"fi_getinfo\(\) failed", "MPI finds no transport: look at FI_PROVIDER, FI_TCP_IFACE and the mpi.FI_* parameters"),
    (r"unrecognized argument (\S+)", r"mpiexec does not know the option \1"),
    (r"KILLED BY SIGNAL: 9|EXIT CODE: 9\b|exited on signal 9 ",
     "a rank was killed (signal 9): often by the kernel for want of memory"),
    (r"KILLED BY SIGNAL: 4|EXIT CODE: 4\b|exited on signal 4 ",
     "a rank met an instruction this CPU lacks: the BLAS kernel does not fit it"),
    (r"EXIT STRING: ([^\n]+?) \(signal (\d+)\)", r"a rank was ended by signal \2 (\1)"),
    (r"exited on signal (\d+) \(([^)]+)\)", r"a rank was ended by signal \1 (\2)"),
    (r"Abort\((\d+)\) on node (\d+)", r"rank \2 aborted the run"),
    (r"EXIT CODE: (\d+)", r"a rank ended with code \1"),
    (r"No space left on device", "the disk is full"),
    (r"process manager error waiting for completion", "a rank or one of MPICH's daemons was killed"),
)  # fmt: skip
"""Messages of Hydra 3 to 5, and of Intel MPI's, and their meaning; the first that matches counts."""


@dataclass(frozen=True)
class Mpich:
    """Command lines of an MPICH. `mpi.NAME` parameters are its control variables (MPIR_CVAR_NAME) or UCX's."""

    mpiexec: Path

    def command(self, job: Job) -> list[str]:
        """Return the tokens: ranks, binding, variables, program."""
        options, pinning = self._bound(job)
        argv = [str(self.mpiexec), *self._places(job), "-n", str(job.ranks), *options]
        argv += ["-wdir", str(job.rank_directory)]
        require_variables(tuple(job.mpi_parameters))
        own = {**pinning, **on_interfaces(job)}
        for name, value in sorted({**own, **job.mpi_parameters, **job.environment}.items()):
            argv += ["-genv", name, value]
        return [*argv, *job.line]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Explain Hydra's messages in one sentence."""
        return explained(SAYINGS, (said, signal_of(exit_code))) or unknown_end(job, "mpiexec", exit_code, said)

    def _places(self, job: Job) -> list[str]:
        if not job.nodes:
            return []
        require_plain(self.mpiexec)
        hosts = ",".join(f"{launcher_name(node)}:{job.ranks_per_node}" for node in job.nodes)
        launcher = [] if job.agent is None else ["-launcher", "ssh", "-launcher-exec", str(job.agent)]
        return [*launcher, *(["-iface", job.interfaces[0]] if job.interfaces else []), "-hosts", hosts]

    def _bound(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """Return the options and the variables that bind ranks."""
        if job.binding == "none" or job.oversubscribe:
            return ["-bind-to", "none"], {}
        return ["-bind-to", f"core:{job.threads_per_rank}" if job.binding == "core" else job.binding], {}


@dataclass(frozen=True)
class IntelMpi(Mpich):
    """Command lines of Intel MPI 2019 and later, which binds by variables.

    A domain of so many cells has as many cores, one hardware thread of each, where a cell is a core (I_MPI_PIN_CELL).
    """

    def _places(self, job: Job) -> list[str]:
        if not job.nodes:
            return []
        require_plain(self.mpiexec)
        bootstrap = [] if job.agent is None else ["-bootstrap", "ssh", "-bootstrap-exec", str(job.agent)]
        return [*bootstrap, "-hosts", ",".join(map(launcher_name, job.nodes)), "-ppn", str(job.ranks_per_node)]

    def _bound(self, job: Job) -> tuple[list[str], dict[str, str]]:
        if job.binding == "none" or job.oversubscribe:
            return [], {"I_MPI_PIN": "0"}
        if job.binding == "core":
            return [], {"I_MPI_PIN": "1", "I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": str(job.threads_per_rank)}
        return [], {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": {"l3cache": "cache3"}.get(job.binding, job.binding)}
