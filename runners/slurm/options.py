"""The options of jobs for Slurm."""

import re
from dataclasses import dataclass, fields

from ..errors import InvalidJobError

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


@dataclass(frozen=True)
class SlurmOptions:
    """The options with which jobs are submitted.

    Attributes:
        nodes: nodes of each allocation; ranks are spread evenly over them.
        cores_per_node: physical cores of a node that ranks and their threads may use.
        time_limit_s: time limit of a shared allocation; a trial's walltime and a minute must fit into it.
            At least 60, rounded up to minutes.
        partition, account, qos: None for the site's default.
        constraint: features that nodes must have, as sbatch takes them.
        exclusive: whether the nodes run no other jobs, as a measurement needs.
        nodelist, exclude: nodes as Slurm writes them, "n[1-4],n7".
        further: more options of sbatch, each "--name=value" or "--name".
        reuse: whether an allocation takes one trial after another; otherwise each trial is its own Slurm job.
        queue_limit_s: how long a job may wait for its nodes.
        lease_s: a job ends if hpltune is silent for this time; at least 1.

    Raises:
        InvalidJobError: Slurm could not take a value, or could misread it.
    """

    nodes: int
    cores_per_node: int
    time_limit_s: float = 4 * 3600.0
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    exclusive: bool = True
    nodelist: str | None = None
    exclude: str | None = None
    further: tuple[str, ...] = ()
    reuse: bool = True
    queue_limit_s: float = 86400.0
    lease_s: float = 120.0

    def __post_init__(self) -> None:
        for name, least in (("nodes", 1), ("cores_per_node", 1), ("time_limit_s", 60), ("lease_s", 1)):
            if not least <= getattr(self, name) <= 10**8:
                raise InvalidJobError(f"slurm: {name} = {getattr(self, name)}, expected at least {least}")
        if not 0 < self.queue_limit_s <= 10**8:
            raise InvalidJobError(f"slurm: queue_limit_s = {self.queue_limit_s}, expected above zero")
        patterns = {"constraint": _CONSTRAINT, "nodelist": _NODES, "exclude": _NODES}
        for name in CHOICES:
            value = getattr(self, name)
            if value is not None and not patterns.get(name, _WORD).fullmatch(value):
                raise InvalidJobError(f"slurm: {name} = {value!r} is nothing that Slurm could take for one")
        for token in self.further:
            self._check(token)

    def _check(self, token: str) -> None:
        """Refuse an option of ours, also as the beginning of its name: sbatch takes that for it (getopt_long)."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise InvalidJobError(f"slurm: option {token!r} is not of the form --name=value")
        for name in (*(field.name for field in fields(self)), *OURS):
            if name.startswith(match[1]):
                short = "" if name == match[1] else f", for which sbatch may take --{match[1]}"
                ours = f"hpltune sets --{name} itself" if name in OURS else f"set it as {name}"
                raise InvalidJobError(f"slurm: option {token}: {ours}{short}")

    def names(self, option: str) -> bool:
        """Return whether an option in `further` has this name."""
        return any(token.partition("=")[0] == option for token in self.further)
