"""Slurm behind the contract of a batch system."""

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ...errors import InvalidJobError, ProcessError, SubmitError
from ...job import Job
from ...launchers.base import Launcher
from ..base import AS_SSH, BatchFacts, BatchJob, OwnLauncher
from ..registry import outside
from .client import KEPT, ask, candidates, hostnames, mpi_types, nodes_of, partitions, silent
from .hold import Salloc
from .options import SlurmTable
from .srun import BY_MPI, SAYINGS, Srun
from .states import JOB_FORM, parse_squeue
from .submit import refusal, sbatch_command, too_much

_OUTSIDE = (
    'for name in $(env | sed -n "s/^\\(SLURM_[A-Za-z0-9_]*\\)=.*/\\1/p"); do unset "$name"; done; exec sh -c "$1"'
)
"""Runs a line on a node without the variables of the step, which an MPI launcher would take for its own job."""
NODE = "HPLTUNE_NODE"
"""Stands for the name of the node in a command line."""


_JOB = re.compile(r"^\s*(\d+)(?:;.*)?\s*$", re.MULTILINE)
"""What sbatch says with --parsable: the number of the job, "12" or "12;cluster"."""
_FAILED_NODE = re.compile(r"[Nn]ode failure on (\S+)")
"""What srun says of a node that failed."""
_SWITCH = re.compile(r"^SwitchName=(\S+) +Level=0 .*?\bNodes=(\S+)", re.MULTILINE)
_END_STEPS = r"""
end_steps() {
    left=50
    while [ $((left -= 1)) -gt 0 ]; do
        if steps=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format=%i); then
            steps=$(echo "$steps" | grep '\.[0-9][0-9]*$') || return 0
            scancel --signal=KILL $steps
        else
            left=$((left - 9))    # this has already waited for the controller
        fi
        sleep 0.2
    done
    return 1
}
"""


@dataclass(frozen=True)
class SlurmSteps:
    """Reaches the nodes of a job by srun.

    Attributes:
        job: the number of the job.
    """

    job: str

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """Return the local command line that runs a command on a node, with all that the job has of it."""
        inside = (word for name in os.environ.keys() - outside(KEPT).keys() for word in ("-u", name))
        where = (f"--jobid={self.job}", f"--nodelist={node}", "--nodes=1", "--ntasks=1", "--chdir=/")
        how = ("--overlap", "--cpu-bind=none", "--mem=0", "--mpi=none", "--quiet")
        return ["env", *inside, "srun", *where, *how, *command]


class Slurm(SlurmTable):
    """Slurm, with what a cluster file asks of it."""

    sayings: ClassVar[tuple[tuple[str, str], ...]] = SAYINGS
    starters: ClassVar[tuple[str, ...]] = ("srun", "slurmstepd")
    end_steps: ClassVar[str] = _END_STEPS

    def on(self, nodes: Sequence[str]) -> Self:
        """Return the same with these nodes as nodelist."""
        named = {"nodes": len(nodes), "nodelist": self.shortened(nodes), "exclude": None, "constraint": None}
        return self.model_copy(update=named)

    def submit(self, cores_per_node: int, time_s: float, log: Path, script: Sequence[str]) -> str:
        """Ask sbatch, unless the partition gives less than what is asked: sbatch often accepts such a job."""
        with suppress(ProcessError):
            if wrong := too_much(self, time_s, partitions()):
                raise InvalidJobError(f"Slurm: {wrong}")
        said = ask(sbatch_command(self, cores_per_node, time_s, log, script))
        job = _JOB.search(said.stdout)
        if said.exit_code != 0 or job is None:
            raise refusal(self, cores_per_node, time_s, said.stderr)
        return job[1]

    def status(self, jobs: Collection[str]) -> Mapping[str, BatchJob]:
        """Ask squeue."""
        if not jobs:
            return {}
        said = ask(["squeue", "--noheader", "--states=all", f"--jobs={','.join(jobs)}", f"--format={JOB_FORM}"])
        if said.exit_code != 0 and "Invalid job id specified" not in said.stderr:  # that: Slurm no longer knows them
            raise silent(said.words())
        return parse_squeue(said.stdout)

    def cancel(self, jobs: Collection[str]) -> None:
        """Ask scancel."""
        if jobs:
            ask(["scancel", *jobs])

    @contextmanager
    def hold(
        self, cores_per_node: int, time_s: float, waiting: Callable[[str], None], stopped: Callable[[], bool]
    ) -> Iterator[str | None]:
        """Ask salloc, which keeps the nodes for as long as our end of a pipe is open."""
        salloc = Salloc(self, cores_per_node, time_s)
        try:
            yield salloc.wait(waiting, stopped)
        finally:
            salloc.close()

    def facts(self) -> BatchFacts:
        """Ask sinfo and srun."""
        known = partitions()
        named = self.partition.split(",") if self.partition else [part.name for part in known if part.default]
        asked = tuple(part for part in known if part.name in named)
        nodes = candidates(self.partition, self.nodelist, self.exclude, self.constraint) if asked else ()
        needed = {mpi: self.mpi or way for mpi, (way, _) in BY_MPI.items()}
        return BatchFacts(known, asked, nodes, OwnLauncher("srun", "--mpi", "srun --mpi=list", mpi_types(), needed))

    def hosts(self, job: str) -> tuple[str, ...]:
        """Ask squeue."""
        listed = ask(["squeue", "--noheader", f"--jobs={job}", "--format=%N"]).stdout.strip()
        names = hostnames(listed) if listed else []
        if not names:
            raise SubmitError(f"Slurm does not tell the nodes of job {job}", transient=True)
        return tuple(names)

    def failed_nodes(self, nodes: str, said: str) -> tuple[str, ...]:
        """Return the node that srun named, else those out of service."""
        match = _FAILED_NODE.search(said)
        return (match[1],) if match else tuple(node.name for node in nodes_of(nodes=nodes or None) if not node.usable)

    def switches(self) -> Mapping[str, str]:
        """Ask scontrol for its topology; switches of the lowest level have the nodes."""
        said = ask(["scontrol", "--oneliner", "show", "topology"])
        return {
            node: switch
            for switch, nodes in (_SWITCH.findall(said.stdout) if said.exit_code == 0 else [])
            for node in hostnames(nodes)
        }

    def shortened(self, nodes: Sequence[str]) -> str:
        """Ask scontrol: "n[1-4],n7"."""
        said = ask(["scontrol", "show", "hostlist", ",".join(nodes)])
        return said.stdout.strip() if said.exit_code == 0 else ",".join(nodes)

    def steps(self, job: str) -> SlurmSteps:
        """Reach the nodes by srun."""
        return SlurmSteps(job)

    def as_ssh(self, job: str, file: Path) -> tuple[str, ...]:
        """Write a program that calls srun.

        An MPI launcher starts it without the variables that choose a Slurm, so the program has them; nobody else reads
        it.
        """
        choosing = {name: shlex.quote(os.environ[name]) for name in sorted(KEPT & os.environ.keys())}
        chosen = "".join(f"export {name}={value}\n" for name, value in choosing.items())
        step = shlex.join(self.steps(job).argv(NODE, ("sh", "-c", _OUTSIDE, "hpltune-step")))
        text = f'{AS_SSH}{chosen}exec {step.replace(NODE, chr(34) + "$node" + chr(34))} "$*"\n'
        file.touch(mode=0o700)
        file.write_text(text, encoding="utf-8")
        return (str(file),)

    def launcher_of(self, mpi: str, its_own: Launcher) -> Launcher:
        """Return srun where the table says so."""
        if self.launcher != "srun":
            return its_own
        way, prefix = BY_MPI[mpi]
        return Srun(self.nodes, self.mpi or way, prefix)

    def command(self, launcher: Launcher, job: Job, folder: Path) -> list[str]:
        """Start the launcher with Slurm's variables: mpirun reads the tasks on each node as its slots."""
        each, several = job.ranks // self.nodes, f"(x{self.nodes})" if self.nodes > 1 else ""
        variables = {
            "SLURM_NTASKS": job.ranks,
            "SLURM_NPROCS": job.ranks,
            "SLURM_NTASKS_PER_NODE": each,
            "SLURM_TASKS_PER_NODE": f"{each}{several}",
        }
        return [
            "env",
            *(f"{name}={value}" for name, value in variables.items()),
            *super().command(launcher, job, folder),
        ]
