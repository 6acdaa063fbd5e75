"""Runs of a scaling analysis on a virtual cluster, several at a time."""

from collections import deque
from dataclasses import dataclass, field

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from runners.virtual.cluster import VirtualCluster

from ..errors import UsageError
from ..machine.problem_size import textbook
from ..simulation.plan import virtual_plan
from ..simulation.simulator import SimulatedTrials
from ..study.file_run import key_of
from ..trial.judge import Failure
from ..trial.launching import planned
from ..trial.records import started
from .plan import EndedRun, PlannedRun, words_of


@dataclass(frozen=True)
class VirtualChoices:
    """How the simulated HPL runs, the same on all numbers of nodes.

    Attributes:
        network: of the cluster's networks.
        depth: of the look-ahead, as in `RealChoices`.
    """

    nb: int
    blas: str
    network: str
    depth: int = 0


@dataclass
class SimulatedSite:
    """A virtual cluster whose nodes have the same number of cores.

    Attributes:
        trials: runs simulations; a plan is checked before there is a study.
    """

    cluster: VirtualCluster
    choices: VirtualChoices
    study: str = ""
    trials: SimulatedTrials | None = None
    _ended: deque[TrialRecord | None] = field(default_factory=deque)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, as the cluster lists them."""
        return tuple(f"n{number}" for number in range(len(self.cluster.node_list)))

    @property
    def free(self) -> bool:
        """Whether another simulation may begin."""
        return self._trials().free

    @property
    def under_way(self) -> int:
        """How many runs have begun and not ended."""
        return len(self._ended)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """HPL's documented advice on the squarest grid, one rank for each core."""
        ranks = run.count * cores_of_each(self.cluster)
        point = textbook(N=run.N, NB=self.choices.nb, blas=self.choices.blas, kernel="auto", ranks=ranks, threads=1)
        return {**point, "DEPTH": self.choices.depth, "net.network": self.choices.network, **words_of(run, self.names)}

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had on this cluster."""
        found = planned(virtual_plan, self.params(run), self.cluster, order=run.nodes)
        return found.reason if isinstance(found, Failure) else None

    def begin(self, run: PlannedRun, expected_s: float | None) -> None:
        """Begin to simulate a run."""
        del expected_s
        params = self.params(run)
        new = started(self.study, params, Kind.RUN, key_of(params))
        self._ended.append(self._trials().begin(new, order=run.nodes))

    def end_oldest(self) -> EndedRun:
        """Wait for the end of the run that began first."""
        return EndedRun(self._ended.popleft() or self._trials().end_oldest())

    def without(self, lost: tuple[str, ...]) -> None:
        """A virtual cluster loses no nodes."""
        raise ValueError(f"nodes {lost} are virtual")

    def _trials(self) -> SimulatedTrials:
        if self.trials is None:
            raise ValueError("a simulation needs a study that records it")
        return self.trials


def cores_of_each(cluster: VirtualCluster) -> int:
    """The cores of each node.

    Raises:
        UsageError: nodes differ, so that their number says little.
    """
    cores = sorted({node.cores for node in cluster.node_list})
    if len(cores) > 1:
        raise UsageError(
            f"{cluster.name} has nodes with {' and '.join(map(str, cores))} cores: their number says little; "
            "take a cluster file with one kind of nodes"
        )
    return cores[0]
