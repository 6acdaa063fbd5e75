"""Where a scaling analysis runs HPL: this machine, some nodes of a real cluster, or a virtual cluster."""

from collections import deque
from dataclasses import dataclass, field, replace

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from runners.virtual.cluster import VirtualCluster

from ..errors import OUR_ERRORS, UsageError
from ..events import Listener
from ..machine.cluster_nodes import with_nodes
from ..machine.inventory import Inventory
from ..machine.problem_size import textbook
from ..simulation.plan import virtual_plan
from ..simulation.simulator import SimulatedTrials
from ..stopping import Stopping
from ..study.file_run import FileBook, key_of
from ..trial.evaluate import Evaluator, memory_shortage
from ..trial.judge import Failure
from ..trial.launching import Launching, LaunchLimits, PlannedTrial, planned, reject
from ..trial.plan import label, plan
from ..trial.records import started
from ..words import counted
from .runs import EndedRun, PlannedRun, words_of
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
        book: where trials are recorded; it is set when there is a study, before the first run.
        names: as `ScalingSite` has it.
    """

    evaluator: Evaluator
    choices: Choices
    listener: Listener
    stop: Stopping
    book: FileBook = field(init=False)
    names: tuple[str, ...] = ()
    _ended: list[EndedRun] = field(default_factory=list)

    @property
    def free(self) -> bool:
        """Whether another run may begin: one at a time."""
        return not self._ended

    @property
    def under_way(self) -> int:
        """How many runs have begun and not ended."""
        return len(self._ended)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """HPL's documented advice on the squarest grid, one rank for each core or for several."""
        choices, ranks = self.choices, self._ranks(run.count)
        point = textbook(
            N=run.N, NB=choices.nb, blas=choices.blas, kernel=choices.kernel, ranks=ranks, threads=choices.threads
        )
        point = {**point, "DEPTH": choices.depth, "binding": choices.binding, **words_of(run, self.names)}
        return self.evaluator.site.program.terms.fitted(point)

    def _ranks(self, count: int) -> int:
        nodes = self.evaluator.site.nodes
        return count * (nodes.cores // self.choices.threads if nodes else 1)

    def inventory(self, run: PlannedRun) -> Inventory:
        """The nodes of a run, in the order in which ranks fill them."""
        whole = self.evaluator.site
        return with_nodes(whole, tuple(self.names[number] for number in run.nodes)) if run.nodes else whole

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had here: its matrix does not fit the memory, or a parameter is not legal."""
        site = self.inventory(run)
        try:
            return memory_shortage(plan(self.params(run), site), site)
        except OUR_ERRORS as error:
            return str(error)

    def begin(self, run: PlannedRun, expected_s: float | None) -> None:
        """Run HPL on the nodes of a run, once more after a lost node came back."""
        evaluator, params, book = replace(self.evaluator, site=self.inventory(run)), self.params(run), self.book
        new = started(book.study, params, Kind.RUN, key_of(params))
        asked = planned(plan, params, evaluator.site)
        if isinstance(asked, Failure):
            self._ended.append(EndedRun(reject(book, new, asked)))
            return
        launching = Launching(evaluator=evaluator, book=book, listener=self.listener, stop=self.stop)
        limits = LaunchLimits(limit_s=self.choices.limit_s, expected_s=expected_s)
        done = launching.measure({0: PlannedTrial(new, asked, label(asked, told(run)))}, limits)
        self._ended.append(EndedRun(done.records[0], done.lost_nodes, done.why))

    def end_oldest(self) -> EndedRun:
        """What came of the run that has begun."""
        return self._ended.pop(0)

    def without(self, lost: tuple[str, ...]) -> None:
        """Go on without nodes that are lost."""
        self.names = tuple(name for name in self.names if name not in lost)


def told(run: PlannedRun) -> str:
    """What the line of a run says of its nodes."""
    if not run.nodes:
        return ""
    nodes = counted(run.count, "node")
    return nodes if run.order is NodeOrder.SORTED else f"{nodes}, shuffled"


@dataclass
class SimulatedSite:
    """A virtual cluster whose nodes have the same number of cores.

    Attributes:
        study, trials: the study, and what runs its simulations; they are set when there is one, before the first run.
    """

    cluster: VirtualCluster
    choices: Choices
    study: str = field(init=False)
    trials: SimulatedTrials = field(init=False)
    _ended: deque[TrialRecord | None] = field(default_factory=deque)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, as the cluster lists them."""
        return tuple(f"n{number}" for number in range(len(self.cluster.node_list)))

    @property
    def free(self) -> bool:
        """Whether another simulation may begin."""
        return self.trials.free

    @property
    def under_way(self) -> int:
        """How many runs have begun and not ended."""
        return len(self._ended)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """HPL's documented advice on the squarest grid, one rank for each core."""
        choices, ranks = self.choices, run.count * cores_of_each(self.cluster)
        point = textbook(N=run.N, NB=choices.nb, blas=choices.blas, kernel=choices.kernel, ranks=ranks, threads=1)
        network = self.cluster.default_network
        return {**point, "DEPTH": choices.depth, "net.network": network, **words_of(run, self.names)}

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had on this cluster."""
        found = planned(virtual_plan, self.params(run), self.cluster, order=run.nodes)
        return found.reason if isinstance(found, Failure) else None

    def begin(self, run: PlannedRun, expected_s: float | None) -> None:
        """Begin to simulate a run."""
        del expected_s
        params = self.params(run)
        self._ended.append(self.trials.begin(started(self.study, params, Kind.RUN, key_of(params)), order=run.nodes))

    def end_oldest(self) -> EndedRun:
        """Wait for the end of the run that began first."""
        return EndedRun(self._ended.popleft() or self.trials.end_oldest())

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
