"""Where a scaling analysis runs HPL: this machine, some nodes of a real cluster, or a virtual cluster."""

from dataclasses import dataclass, field, replace

from hpl.params import Scalar
from results.record import Kind
from runners.virtual.cluster import VirtualCluster

from ..engines.outcomes import FULL
from ..errors import OUR_ERRORS, UsageError
from ..machine.cluster_nodes import with_nodes
from ..machine.inventory import Inventory
from ..machine.problem_size import textbook
from ..simulation.plan import VirtualPlan, virtual_plan
from ..study.file_run import key_of
from ..trial.evaluate import Evaluator, memory_shortage
from ..trial.judge import Failure
from ..trial.launch import LaunchLimits
from ..trial.launching import Launching, PlannedTrial, planned
from ..trial.plan import TrialPlan, plan
from ..trial.records import started
from ..words import counted
from .runs import ORDER, PlannedRun, words_of
from .statistics import NodeOrder


@dataclass(frozen=True)
class Choices:
    """How HPL runs, the same on all numbers of nodes.

    Attributes:
        threads: of each rank.
        depth: of the look-ahead. Without it HPL's timers show the broadcast apart from the update.
        binding: what a rank is bound to.
        limit_s: seconds after which a run is ended.
    """

    nb: int
    blas: str
    kernel: str
    threads: int = 1
    depth: int = 0
    binding: str = "core"
    limit_s: float = 86400.0


@dataclass
class RealSite:
    """This machine or a real cluster. A run begins and ends in one call, because HPL must be alone.

    Attributes:
        study, launching: the study, and what runs its trials; they are set when there is one, before the first run.
        names: as `ScalingSite` has it.
    """

    evaluator: Evaluator
    choices: Choices
    names: tuple[str, ...] = ()
    study: str = field(init=False)
    launching: Launching[TrialPlan] = field(init=False)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """HPL's documented advice on the squarest grid, one rank for each core or for several."""
        choices, ranks = self.choices, self._ranks(run.count)
        point = textbook(
            N=run.N, NB=choices.nb, blas=choices.blas, kernel=choices.kernel, ranks=ranks, threads=choices.threads
        )
        point = {**point, "DEPTH": choices.depth, "binding": choices.binding, **words_of(run, self.names)}
        return self.evaluator.machine.program.terms.fitted(point)

    def _ranks(self, count: int) -> int:
        nodes = self.evaluator.machine.nodes
        return count * (nodes.cores // self.choices.threads if nodes else 1)

    def inventory(self, run: PlannedRun) -> Inventory:
        """The nodes of a run, in the order in which ranks fill them."""
        whole = self.evaluator.machine
        return with_nodes(whole, tuple(self.names[number] for number in run.nodes)) if run.nodes else whole

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had here: its matrix does not fit the memory, or a parameter is not legal."""
        site = self.inventory(run)
        try:
            return memory_shortage(plan(self.params(run), site), site)
        except OUR_ERRORS as error:
            return str(error)

    def begin(self, run: PlannedRun, expected_s: float | None) -> int:
        """Begin a run of HPL on some nodes; once more after a lost node came back."""
        evaluator, params = replace(self.evaluator, machine=self.inventory(run)), self.params(run)
        new = started(self.study, params, Kind.RUN, key_of(params))
        asked = PlannedTrial(new, planned(evaluator.plan, params, FULL), told(run))
        limits = LaunchLimits(limit_s=self.choices.limit_s, expected_s=expected_s)
        return self.launching.start({0: asked}, lambda _: limits, evaluator)

    def without(self, lost: tuple[str, ...]) -> None:
        """Go on without nodes that are lost."""
        self.names = tuple(name for name in self.names if name not in lost)


def told(run: PlannedRun) -> str:
    """What the line of a run says of its nodes."""
    nodes = counted(run.count, "node") if run.nodes else ""
    return nodes if not nodes or run.order is NodeOrder.SORTED else f"{nodes}, shuffled"


@dataclass
class SimulatedSite:
    """A virtual cluster whose nodes have the same number of cores.

    Attributes:
        study, launching: as `RealSite` has them.
    """

    cluster: VirtualCluster
    choices: Choices
    study: str = field(init=False)
    launching: Launching[VirtualPlan] = field(init=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, as the cluster lists them."""
        return tuple(f"n{number}" for number in range(len(self.cluster.node_list)))

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """HPL's documented advice on the squarest grid, one rank for each core."""
        choices, ranks = self.choices, run.count * cores_of_each(self.cluster)
        point = textbook(N=run.N, NB=choices.nb, blas=choices.blas, kernel=choices.kernel, ranks=ranks, threads=1)
        return {
            **point,
            "DEPTH": choices.depth,
            "net.network": self.cluster.default_network,
            **words_of(run, self.names),
        }

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had on this cluster."""
        found = planned(virtual_plan, self.params(run), self.cluster, order=run.nodes)
        return found.reason if isinstance(found, Failure) else None

    def begin(self, run: PlannedRun, expected_s: float | None) -> int:
        """Begin to simulate a run."""
        params = self.params(run)
        new = started(self.study, params, Kind.RUN, key_of(params))
        asked = planned(virtual_plan, params, self.cluster, new.key, order=run.nodes)
        limits = LaunchLimits(limit_s=self.choices.limit_s, expected_s=expected_s)
        return self.launching.start({0: PlannedTrial(new, asked, str(params.get(ORDER, "")))}, lambda _: limits)

    def without(self, lost: tuple[str, ...]) -> None:
        """A virtual cluster loses no nodes."""
        raise ValueError(f"nodes {lost} are virtual")


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
