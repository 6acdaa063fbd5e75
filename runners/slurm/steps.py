"""Runs commands on the nodes of a Slurm job as steps of it: by srun, or by a program that takes ssh's arguments."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..batch_job import outside
from .client import KEPT

_OUTSIDE = (
    'for name in $(env | sed -n "s/^\\(SLURM_[A-Za-z0-9_]*\\)=.*/\\1/p"); do unset "$name"; done; exec sh -c "$1"'
)
"""Runs a line on a node without the variables of the step, which an MPI launcher would take for its own job."""
NODE = "HPLTUNE_NODE"
"""Stands for the name of the node in a command line."""


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


def as_ssh(job: str, file: Path) -> tuple[str, ...]:
    """Write a program that is called as `ssh [options] node -- line`, and return the tokens that start it.

    An MPI launcher starts it without the variables that choose a Slurm, so the program has them; nobody else reads it.

    Args:
        job: the number of the job that holds the nodes.
    """
    chosen = "".join(f"export {name}={shlex.quote(os.environ[name])}\n" for name in sorted(KEPT & os.environ.keys()))
    step = shlex.join(SlurmSteps(job).argv(NODE, ("sh", "-c", _OUTSIDE, "hpltune-step")))
    text = (
        "#!/bin/sh\n"
        "# Called as ssh: runs a line on a node as a step of a Slurm job.\n"
        f"{chosen}"
        'while [ "${1#-}" != "$1" ]; do\n'
        '    if [ "$1" = -o ]; then shift; fi\n'
        "    shift\n"
        "done\n"
        "node=$1\n"
        "shift\n"
        'if [ "$1" = -- ]; then shift; fi\n'
        f'exec {step.replace(NODE, chr(34) + "$node" + chr(34))} "$*"\n'
    )
    file.touch(mode=0o700)
    file.write_text(text, encoding="utf-8")
    return (str(file),)
