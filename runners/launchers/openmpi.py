"""Open MPI 4 and 5: `mpirun`."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..forwarded import require_plain
from ..hosts.host_names import launcher_name
from ..job import Job
from ..paths import ORDER
from .base import TOO_FEW_FILES, UCX, explained, signal_of, unknown_end

TRANSPORTS = ("UCX_", "FI_", "PSM2_")
"""Prefixes of variables that libraries below Open MPI read; these are not MCA parameters."""
ALLOCATIONS = ("slurm", "tm", "pbs", "lsf", "gridengine", "flux", "loadleveler", "alps")
"""Components of Open MPI 4 and 5 that read the allocation of a batch system (framework ras); it passes over others."""
_OBJECTS = {"l3cache": "l3cache", "numa": "numa", "socket": "package"}

SAYINGS: tuple[tuple[str, str], ...] = (
    (r"limit on number of pipes a process can open|Too many open files|Out of resource in file \S*oob_tcp_listener",
     TOO_FEW_FILES),
    (r"PMIX_ERR_SYS_LIMITS_(?:PIPES|FILES)", TOO_FEW_FILES),
    (r"None of the TCP networks specified to be included[\s\S]*?Value given:\s*(\S+)",
     r"Open MPI finds none of the network interfaces it was told to use (\1)"),
    (r"unable to find network interfaces",
     "mpirun finds no network interface that is up, not even the loopback: `ip link set lo up` mends that"),
    (r"not enough slots available", "mpirun sees fewer cores than ranks: choose a layout with fewer ranks"),
    (r"More processes requested than allocated|overload-allowed|Mapper result:\s+Out of resource",
     "mpirun cannot give each rank cores of its own"),
    (r"unable to launch the specified application as it could not\s+access|unable to find the specified executable",
     "mpirun cannot find the program: it is missing or not executable"),
    (r"Exec format error", "the program is not one this machine can execute"),
    (r"error while loading shared libraries: ([^\n]+)", r"the program cannot load a library: \1"),
    (r"Need at least (\d+) processes", r"HPL.dat needs \1 ranks"),
    (r"requested component was not found[\s\S]*?Framework:\s*(\S+)\s+Component:\s*(\S+)",
     r"Open MPI has no component \2 of \1: look at the mpi.* parameters, and at OMPI_MCA_\1 in the environment"),
    (r"lost communication with a remote daemon[\s\S]*?Remote daemon:[^\n]* on node (\S+)", r"mpirun lost node \1"),
    (r"Directory:\s+(\S+)\s+Error:\s+([^\n]+)[\s\S]*session_?dir",
     r"Open MPI cannot make its session folder \1 (\2): set TMPDIR to another"),
    (r"PMIX ERROR: (?:PMIX_ERR_)?OUT-OF-RESOURCE[\s\S]*dstore",
     "Open MPI's session folder is full: make room where TMPDIR leads (else /tmp), or set it to another"),
    (r"exited on\s+signal 9 \(Killed\)", "a rank was killed (signal 9): often by the kernel for want of memory"),
    (r"exited on\s+signal 4 ", "a rank met an instruction this CPU lacks: the BLAS kernel does not fit it"),
    (r"exited on\s+signal (\d+) \(([^)]+)\)", r"a rank was ended by signal \1 (\2)"),
    (r"No space left on device", "the disk is full"),
    (r"unable to complete a TCP connection[\s\S]*?Remote host:\s*(\S+)",
     r"Open MPI on a node cannot connect to \1: there is no way between them, or a firewall"),
    (r"unable to reliably start one or more daemons|lost communication with a? ?(?:remote )?daemon|daemon exited unexp",
     "Open MPI's daemon on a node could not be started, or was lost"),
    (r"MPI_ABORT was invoked on rank (\d+)", r"rank \1 aborted the run"),
    (r"Exit code:\s+(\d+)", r"a rank ended with code \1"),
    (r"exited with non-zero status", "a rank ended with an error"),
    (r"unknown option \"([^\"]+)\"", r"mpirun does not know the option \1: it may not find its own files"),
    (r"allow-run-as-root", "mpirun refuses to run as root"),
)  # fmt: skip
"""Messages of Open MPI 4 and 5 and their meaning; the first that matches counts. Version 5 breaks lines anywhere."""

_RANK_ENDED = re.compile(r"Primary job\s+terminated normally")
"""Begins Open MPI's first box about a rank that ended with an error; the second, with its code, may be lost."""


@dataclass(frozen=True)
class OpenMpi:
    """Command lines of an Open MPI.

    Attributes:
        mpirun: absolute path.
        major: 4 or 5, which spell some options differently.
        as_root: whether root starts mpirun, which needs an option to allow that.
    """

    mpirun: Path
    major: int
    as_root: bool

    @classmethod
    def installed(cls, mpirun: Path, version: str) -> "OpenMpi":
        """Make the launcher of an installation, for the current user."""
        return cls(mpirun, int(version.split(".", maxsplit=1)[0]), os.geteuid() == 0)

    def command(self, job: Job) -> list[str]:
        """Return the tokens: ranks, binding, variables, MCA parameters, program."""
        argv = [str(self.mpirun)]
        if self.as_root:
            argv.append("--allow-run-as-root")
        binding, each = self._binding(job), ["-wdir", str(job.rank_directory)]
        for name, value in sorted({**self._interfaces(job), **job.mpi_parameters}.items()):
            each += ["-x", f"{name}={value}"] if name.startswith(TRANSPORTS) else ["--mca", name, value]
        for name, value in sorted(job.environment.items()):
            each += ["-x", f"{name}={value}"]
        each += job.line
        if not job.nodes:
            return [*argv, "-np", str(job.ranks), *binding, *each]
        require_plain(self.mpirun)
        hosts = [f"{launcher_name(node)}:{job.ranks_per_node}" for node in job.nodes]
        if self.major >= 5 or not job.order:  # Debian's Open MPI 5.0 crashes where hosts have programs of their own
            return [*argv, "--host", ",".join(hosts), *self._agent(job), "-np", str(job.ranks), *binding, *each]
        first, *further = [["--host", host, "-np", str(job.ranks_per_node), *each] for host in hosts]
        return [*argv, *self._agent(job), *binding, *first, *(token for one in further for token in (":", *one))]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """Explain Open MPI's messages in one sentence; without a message, a code above 128 is the signal of a rank."""
        of_rank = f"Exit code: {exit_code}" if exit_code > 0 and _RANK_ENDED.search(said) else ""
        return explained(SAYINGS, (said, signal_of(exit_code), of_rank)) or unknown_end(job, "mpirun", exit_code, said)

    def _agent(self, job: Job) -> list[str]:
        """Return the options for the agent; daemons start further daemons only if all nodes have it.

        Inside an allocation Open MPI would take the batch system's number of ranks for each node in place of ours.
        """
        if job.agent is None:
            return []
        launch = "ssh" if self.major >= 5 else "rsh"
        alone = [] if job.agent.parent == job.rank_directory else ["--mca", f"plm_{launch}_no_tree_spawn", "1"]
        ours = ["--mca", "ras", f"^{','.join(ALLOCATIONS)}", "--mca", "plm", launch]
        return [*ours, "--mca", f"plm_{launch}_agent", str(job.agent), *alone]

    def _interfaces(self, job: Job) -> dict[str, str]:
        """Limit TCP between ranks, and between daemons, to the job's interfaces, and UCX to their devices."""
        if not job.interfaces:
            return {}
        names = ",".join(job.interfaces)
        daemons = "prte_if_include" if self.major >= 5 else "oob_tcp_if_include"
        return {
            "btl_tcp_if_include": names,
            daemons: names,
            **({UCX: ",".join(job.ucx_devices)} if job.ucx_devices else {}),
        }

    def _binding(self, job: Job) -> list[str]:
        over = ":OVERSUBSCRIBE" if job.oversubscribe else ""
        unit, cores, bound = "slot", "", "none"
        if job.binding == "core" and not job.oversubscribe:
            cores, bound = f":PE={job.threads_per_rank}", "core"
        elif job.binding != "none" and not job.oversubscribe:
            unit = bound = _OBJECTS[job.binding] if self.major >= 5 else job.binding
        if self.major >= 5 and job.order:
            unit, over = "seq", f"{over}:file={ORDER}"
        return ["--map-by", f"{unit}{cores}{over}", "--bind-to", bound]
