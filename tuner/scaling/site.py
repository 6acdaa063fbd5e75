"""What a scaling analysis needs of the machine that its runs are on, real or virtual."""

from dataclasses import dataclass
from typing import Protocol

from hpl.params import Scalar
from results.record import TrialRecord

from ..trial.launching import Queue
from .plan import PlannedRun

COUNT, ORDER, REPEAT, NODES = "scale.count", "scale.order", "scale.repeat", "scale.nodes"
"""What the records of these runs have beside HPL's parameters."""


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended.

    Attributes:
        lost_nodes: names of nodes that no longer answer.
    """

    record: TrialRecord
    lost_nodes: tuple[str, ...] = ()


class ScalingSite(Queue[EndedRun], Protocol):
    """A machine that runs HPL on some of its nodes."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, sorted as the cluster lists them; empty on one machine, where ranks are counted."""

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """The configuration of a run, as its record keeps it."""

    def why_not(self, run: PlannedRun) -> str | None:
        """The sentence why a run cannot be had, such as that its matrix does not fit the memory."""

    def begin(self, run: PlannedRun, expected_s: float | None) -> None:
        """Begin a run."""

    def without(self, lost: tuple[str, ...]) -> None:
        """Go on without nodes."""


def words_of(run: PlannedRun, names: tuple[str, ...]) -> dict[str, Scalar]:
    """What tells a run from others of the same configuration."""
    nodes = {NODES: ",".join(names[number] for number in run.nodes)} if run.nodes else {}
    return {COUNT: run.count, ORDER: str(run.order), REPEAT: run.repeat, **nodes}
