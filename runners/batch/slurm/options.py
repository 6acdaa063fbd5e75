"""The table [slurm] of a cluster file, and what Slurm can take of it."""

import re
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from ..base import BatchSystem, BatchWords

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+:@-]{0,254}")
_CONSTRAINT = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9_.,:=+*&|()\[\]-]{0,254}")
_NODES = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,\[\]-]{0,1023}")
_TOKEN = re.compile(r"--([a-z][a-z0-9-]*)(=[^\x00-\x1f\x7f]+)?")
OURS = (
    *("array", "batch", "chdir", "clusters", "cpus-per-task", "error", "export", "help", "input", "job-name"),
    *("no-requeue", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable", "quiet", "requeue", "test-only"),
    *("time", "usage", "version", "wait", "wrap"),
)
"""Options of sbatch that hpltune sets itself, or that would change the output it reads."""
CHOICES = ("partition", "account", "qos", "constraint", "nodelist", "exclude")
"""Optional options with the same name in sbatch and here."""


class SlurmTable(BatchSystem, ABC):
    """What the table [slurm] asks of Slurm.

    Attributes:
        launcher: "mpirun" of the MPI library inside the allocation, or "srun".
        mpi: the way in which ranks of srun find each other; None for the one that the MPI library usually needs.
        time_limit_s: at least 60, rounded up to minutes; a trial's walltime and a minute must fit into it.
        partition, account, qos: None for the site's default.
        constraint: features that nodes must have, as sbatch takes them.
        nodelist, exclude: nodes as Slurm writes them, "n[1-4],n7".
        exclusive: whether the nodes run no other jobs, as a measurement needs.
        further: more options of sbatch, each "--name=value" or "--name".
    """

    name: ClassVar[str] = "slurm"
    words: ClassVar[BatchWords] = BatchWords(
        title="Slurm",
        queue="partition",
        max_time="MaxTime",
        submit="sbatch",
        look="squeue",
        why_down="sinfo -R",
        hosts="leave hosts out, or name them as nodelist under [slurm]",
    )

    launcher: Literal["mpirun", "srun"] = "mpirun"
    mpi: Literal["pmix", "pmix_v3", "pmix_v4", "pmix_v5", "pmi2", "none"] | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    exclusive: bool = True
    nodelist: str | None = None
    exclude: str | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Refuse what Slurm could not take, or could misread."""
        if self.time_limit_s is not None and not 60 <= self.time_limit_s <= 10**8:
            raise ValueError(f"time_limit_s = {self.time_limit_s}, expected at least 60")
        if self.queue_limit_s > 10**8:
            raise ValueError(f"queue_limit_s = {self.queue_limit_s}, expected at most {10**8}")
        if self.mpi and self.launcher != "srun":
            raise ValueError('mpi is an option of srun: add launcher = "srun", or leave it out')
        patterns = {"constraint": _CONSTRAINT, "nodelist": _NODES, "exclude": _NODES}
        for name in CHOICES:
            value = getattr(self, name)
            if value is not None and not patterns.get(name, _WORD).fullmatch(value):
                raise ValueError(f"{name} = {value!r} is nothing that Slurm could take for one")
        for token in self.further:
            self._check(token)
        return self

    def _check(self, token: str) -> None:
        """Refuse an option of ours, also as the beginning of its name: sbatch takes that for it (getopt_long)."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise ValueError(f"option {token!r} is not of the form --name=value")
        for name in (*type(self).model_fields, *OURS):
            if name.startswith(match[1]):
                short = "" if name == match[1] else f", for which sbatch may take --{match[1]}"
                ours = f"hpltune sets --{name} itself" if name in OURS else f"set it as {name}"
                raise ValueError(f"option {token}: {ours}{short}")

    @property
    def excluded(self) -> tuple[str, ...]:
        """What exclude says."""
        return tuple((self.exclude or "").split(","))

    @property
    def nodes_named_by(self) -> str:
        """The key nodelist, where it is given."""
        return "nodelist" if self.nodelist else ""

    def without(self, nodes: Sequence[str]) -> Self:
        """Return the same with further nodes in exclude."""
        return self.model_copy(update={"exclude": ",".join((*filter(None, [self.exclude]), *nodes))})
