"""Slurm's own launcher: `srun` inside an allocation."""

from dataclasses import dataclass

from ...errors import InvalidJobError
from ...forwarded import require_variables
from ...job import Job
from ...launchers.base import explained, last_words, on_interfaces, signal_of

BY_MPI = {"openmpi": ("pmix", "OMPI_MCA_"), "mpich": ("pmi2", ""), "intelmpi": ("pmi2", "")}
"""How srun starts the ranks of a library, and what makes a variable of the name of one of its parameters."""
_BINDINGS = {"core": "cores", "numa": "ldoms", "socket": "sockets", "none": "none"}

SAYINGS: tuple[tuple[str, str], ...] = (
    (r"More processors requested than permitted|Requested node configuration is not available|Node count specification",
     "srun sees fewer cores than ranks: choose a layout with fewer ranks, or more cores_per_node"),
    (r"execve\(\): (.+): No such file or directory", r"srun cannot find the program: \1 is missing on a node"),
    (r"execve\(\): (.+): Permission denied", r"srun may not execute \1"),
    (r"Exec format error", "the program is not one the nodes can execute"),
    (r"error while loading shared libraries: ([^\n]+)", r"the program cannot load a library: \1"),
    (r"Couldn't find the specified plugin name for mpi/(\S+)|Invalid MPI type '(\w+)'",
     "this Slurm has no such way to start MPI: `srun --mpi=list` lists those it has"),
    (r"OMPI was not built with SLURM's PMI support|PMI2?_Init|pmix_init.*fail",
     "the ranks do not find each other: this MPI wants another --mpi (`srun --mpi=list`), or its own mpirun"),
    (r"[Nn]ode failure on (\S+)", r"node \1 failed"),
    (r"Task launch for \S+ failed on node (\S+): ([^\n]+)", r"ranks could not be started on node \1: \2"),
    (r"oom-kill|Out Of Memory|OUT_OF_MEMORY", "a rank was killed for want of memory: choose a smaller N"),
    (r"Need at least (\d+) processes", r"HPL.dat needs \1 ranks"),
    (r"MPI_ABORT was invoked on rank (\d+)", r"rank \1 aborted the run"),
    (r"error: (\S+): tasks? [\d,-]+: Killed",
     r"a rank on \1 was killed (signal 9): often by the kernel for want of memory"),
    (r"error: (\S+): tasks? [\d,-]+: Illegal instruction",
     r"a rank on \1 met an instruction its CPU lacks: the BLAS kernel does not fit it"),
    (r"error: (\S+): tasks? [\d,-]+: (Segmentation fault|Bus error|Floating point exception|Aborted|Terminated)",
     r"a rank on \1 was ended: \2"),
    (r"error: (\S+): tasks? [\d,-]+: Exited with exit code (\d+)", r"a rank on \1 ended with code \2"),
    (r"Unable to confirm allocation|Invalid job id|Unable to contact slurm controller", "srun finds no allocation"),
)  # fmt: skip
"""Messages of srun of Slurm 22 to 24 and their meaning; the first that matches counts."""


@dataclass(frozen=True)
class Srun:
    """Command lines of srun.

    Attributes:
        nodes: nodes of the allocation; the ranks are spread evenly over them, in the order of the nodes.
        mpi: by which method ranks find each other (`srun --mpi=list`).
        parameter_prefix: the prefix that makes an MPI parameter's name a variable; the default is Open MPI's.
    """

    nodes: int
    mpi: str = "pmix"
    parameter_prefix: str = "OMPI_MCA_"

    def command(self, job: Job) -> list[str]:
        """Return the tokens of the command line.

        `env` sets variables for the ranks alone: --export splits values at commas, and a library that is preloaded into
        ranks must not be loaded into srun.

        Raises:
            InvalidJobError: srun cannot bind ranks in this way or cannot spread them evenly.
        """
        if job.ranks % self.nodes:
            raise InvalidJobError(f"{job.ranks} ranks cannot be spread evenly over {self.nodes} nodes")
        argv = [
            *("srun", f"--mpi={self.mpi}", f"--nodes={self.nodes}", f"--ntasks={job.ranks}"),
            *(f"--ntasks-per-node={job.ranks // self.nodes}", "--distribution=block", *self._binding(job)),
            *("--kill-on-bad-exit=1", "--export=ALL", f"--chdir={job.directory}", *job.launcher_options),
        ]
        if not self.parameter_prefix:
            require_variables(tuple(job.mpi_parameters))
        variables = self._interfaces(job)
        variables.update({f"{self.parameter_prefix}{name}": value for name, value in job.mpi_parameters.items()})
        variables.update(job.environment)
        env = ["/usr/bin/env", *(f"{name}={value}" for name, value in sorted(variables.items()))] if variables else []
        return [*argv, *env, *job.line]

    def explain(self, job: Job, exit_code: int, said: str) -> str:  # noqa: ARG002 - the contract's
        """Explain srun's messages in one sentence; without a message, a code above 128 is the signal of a rank."""
        signalled = signal_of(exit_code)
        return explained(SAYINGS, (said,)) or (
            f"a rank {signalled}" if signalled else last_words("srun", exit_code, said)
        )

    def _interfaces(self, job: Job) -> dict[str, str]:
        """Return variables that limit TCP to the job's interfaces; libraries without a prefix use UCX or libfabric."""
        if self.parameter_prefix and job.interfaces:
            return {f"{self.parameter_prefix}btl_tcp_if_include": ",".join(job.interfaces)}
        return on_interfaces(job)

    @staticmethod
    def _binding(job: Job) -> list[str]:
        if job.oversubscribe:
            return ["--overcommit", "--cpu-bind=none"]
        if job.binding not in _BINDINGS:
            raise InvalidJobError(f"srun cannot bind ranks to {job.binding}: use one of {', '.join(_BINDINGS)}")
        return [f"--cpus-per-task={job.threads_per_rank}", f"--cpu-bind={_BINDINGS[job.binding]}"]
