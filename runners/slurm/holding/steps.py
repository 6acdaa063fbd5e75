"""Runs commands on the nodes of a Slurm job, each as a step of its own that shares the node with others."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ...batch_job import outside
from ..client import KEPT


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
