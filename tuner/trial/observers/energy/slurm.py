"""Slurm's own energy: the joules of each node, as the plugin that the site chose counts them.

Source: slurm.conf(5), AcctGatherEnergyType and AcctGatherNodeFreq; scontrol(1), the field ConsumedJoules of a node,
which slurmd tells the controller every AcctGatherNodeFreq seconds.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Self

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError, answers, first_figure

MOST_NODES = 4096
"""Nodes of Slurm that are read: one answer of its controller has a line for each."""
CONFIG = ("scontrol", "show", "config")
NODES = ("scontrol", "-o", "show", "nodes")
_TYPE = re.compile(r"^AcctGatherEnergyType\s*=\s*(\S+)", re.MULTILINE)
_PERIOD = re.compile(r"^AcctGatherNodeFreq\s*=\s*(\d+) sec", re.MULTILINE)
_NODE = re.compile(r"^NodeName=(\S+).*\sConsumedJoules=(\d+)(?:\s|$)", re.MULTILINE)
NO_TYPES = {"(null)", "none", "acct_gather_energy/none"}


class SlurmEnergy(PowerSource):
    """The counters of all nodes of a Slurm cluster whose energy it gathers."""

    name = "slurm"
    what = "nodes as Slurm counts it"

    def __init__(self, hosts: Sequence[str], period_s: float) -> None:
        super().__init__([PowerPart(host, counts=True) for host in hosts])
        self.period_s = period_s

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Ask Slurm whether it gathers energy, how often, and of which nodes."""
        batch = places.cluster.batch if places.cluster is not None else None
        if batch is None or batch.name != "slurm" or shutil.which(CONFIG[0]) is None:
            return None
        config = _asked(CONFIG)
        kind, period = _TYPE.search(config), _PERIOD.search(config)
        if kind is None or kind[1].lower() in NO_TYPES:
            return None
        period_s = float(period[1]) if period else 0.0
        if period_s <= 0:
            raise PowerSourceError("is not sampled: AcctGatherNodeFreq is 0 in slurm.conf")
        joules = _joules()
        if not joules:
            raise PowerSourceError(f"tells no joules of any node, though AcctGatherEnergyType is {kind[1][:40]!a}")
        return cls(tuple(joules), period_s)

    def read(self) -> Sequence[float]:
        """Read all counters in joules."""
        joules = _joules()
        missing = next((part.host for part in self.parts if part.host not in joules), None)
        if missing is not None:
            raise PowerSourceError(f"stopped telling of {missing}")
        return [joules[part.host] for part in self.parts]


def _joules() -> Mapping[str, float]:
    """The counter of each node that Slurm counts; a node that is not counted has "n/s" there."""
    return {host: first_figure(joules) for host, joules in _NODE.findall(_asked(NODES))[:MOST_NODES]}


def _asked(command: tuple[str, ...]) -> str:
    """What a program of Slurm prints.

    Raises:
        PowerSourceError: it does not answer.
    """
    said = answers({HERE: command})[HERE]
    if said.exit_code:
        raise PowerSourceError(f"cannot be asked: {command[0]} said {said.complaint[:120]!a}")
    return said.stdout
