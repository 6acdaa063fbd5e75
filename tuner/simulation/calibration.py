"""Calibration: measures what a model of this machine is made of, and checks the model against HPL runs."""

import math
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from scipy.stats import spearmanr

from hpl.params import Scalar
from hpl.private_files import private_folder
from hpl.rpeak import ROOT
from hpl.witness import SolveConditions, parse_conditions
from results.disturbance import Conditions, counting
from results.record import Kind, TrialRecord, TrialState
from results.stats.disturbed_runs import DisturbedRuns, undisturbed
from runners.paths import RunPaths
from runners.toml_file import GIB
from runners.virtual.cluster import SharedMemory, VirtualCluster, VirtualNodes

from ..errors import TunerError
from ..events import Listener, Notice, TrialEnded
from ..machine.calibrator import Figures, between_nodes, messages_of, parse_figures, pooled, shared_of, this_machine
from ..machine.cluster_nodes import with_nodes
from ..machine.inventory import Inventory
from ..machine.problem_size import textbook
from ..stopping import StopRequest
from ..trial.ask_and_tell import ListedPoint, ask_and_tell, start_point
from ..trial.launch import LaunchLimits, LaunchOutcome
from ..trial.launching import NO_STUDY, Launching, MemoryBook
from ..trial.observers.conditions import measured as what_ranks_told
from ..trial.plan import TrialPlan, plan
from ..trial.records import started
from ..trial.workbench import Workbench
from ..units import duration
from .cluster import SimulatedCluster
from .simulator import Simulated, Wish, simulate

CALIBRATOR_LIMIT_S = CHECK_LIMIT_S = 600.0
WITHIN = "messages within a node"
LEAST_N = 1000
"""N of the plan that tells where the calibrator's ranks are; they compute no matrix."""

CACHE_KIB = 512.0
"""Second-level cache of a core where the kernel does not tell."""


SIMULATION_LIMIT_S = 600.0
SIZES = (2000, 3000, 4000, 6000, 8000)
"""Values of N on one node."""
BLOCKS = (128, 64, 256, 192, 96, 384)
"""Values of NB."""

FEWEST = 3
"""The fewest configurations whose order says something."""


@dataclass(frozen=True)
class MeasurementPlan:
    """What is measured.

    Attributes:
        kernels: the kernel of each BLAS to time.
        points: the configurations of the checks.
        rounds: how often everything is measured.
        binding: what ranks of the calibrator are bound to.
    """

    kernels: Mapping[str, str]
    points: Sequence[Mapping[str, Scalar]]
    rounds: int
    binding: str = "core"


@dataclass(frozen=True)
class Measurements:
    """What was measured.

    Attributes:
        timings: the runs of the calibrator, each with its BLAS as its key and what routines and messages took; one of
            messages within a node has the key WITHIN.
        checks: the HPL runs, each with the number of its configuration as its key.
    """

    timings: list[tuple[TrialRecord, Figures]] = field(default_factory=list)
    checks: list[TrialRecord] = field(default_factory=list)

    def counting(self) -> list[tuple[TrialRecord, Figures]]:
        """The timings that count: of a BLAS only undisturbed ones, where one exists."""
        counts = {id(record) for record in undisturbed(record for record, _ in self.timings)}
        return [timing for timing in self.timings if id(timing[0]) in counts]

    def is_disturbed(self, key: str) -> bool:
        """Whether what was measured of a BLAS or a configuration was disturbed each time."""
        records = [record for record in (*(record for record, _ in self.timings), *self.checks) if record.key == key]
        return any(record.disturbed for record in records) and not any(record.undisturbed for record in records)


@dataclass
class Calibration:
    """The measurements of a machine: the calibrator, which times routines and messages, and HPL runs to check against.

    Attributes:
        folder: where the calibrator runs.
        launching: runs HPL, each with the number of its configuration as its key.
        found: what was measured so far.
    """

    workbench: Workbench
    asked: MeasurementPlan
    folder: Path
    launching: Launching[TrialPlan]
    found: Measurements = field(default_factory=Measurements)
    began_s: float = field(default_factory=time.monotonic)

    def time(self, blas: str, kernel: str, name: str, *arguments: str, node: str = "") -> tuple[TrialRecord, Figures]:
        """Run the calibrator, one rank on each core, and read what it prints, and what the machine did meanwhile.

        Args:
            name: of the folder of the run.
            node: the only one of a cluster that it runs on; "" for all.

        Raises:
            TunerError: it cannot time this BLAS, or it failed.
        """
        evaluator = self.workbench.evaluator
        inventory = with_nodes(evaluator.machine, (node,)) if node else evaluator.machine
        program = inventory.program.calibrator(inventory.mpi, inventory.library(blas, 1), evaluator.search)
        if program is None:
            raise TunerError("calibrating needs a BLAS of this machine; a program of your own hides its routines")
        cores, paths = inventory.host.physical_cores, RunPaths(self.folder / name)
        point = textbook(N=LEAST_N, NB=64, blas=blas, kernel=kernel, ranks=cores, threads=1)
        every_core = plan({**point, "binding": self.asked.binding}, inventory)
        there, launch = replace(evaluator, machine=inventory), self.launching.launch_program
        status = launch(there, program, arguments, every_core, self.folder / name, CALIBRATOR_LIMIT_S)
        if status.exit_code != 0 and not self.launching.stop.requested:
            raise TunerError(f"timing {blas}'s routines failed: {status.message}")
        record = replace(
            started(NO_STUDY, point, Kind.RUN, blas),
            state=TrialState.COMPLETE,
            measurements=what_ranks_told(parse_conditions(paths.read_stderr()).get(0, SolveConditions()), cores),
            ranks=cores // inventory.node_count,
            threads=1,
        )
        return record, parse_figures(paths.read_stdout())

    def rounds(self) -> Iterator[int]:
        """Time the routines of each round, and yield the numbers of the configurations that run after that."""
        asked, found, said, stop = self.asked, self.found, self.launching.listener, self.launching.stop
        inventory = self.workbench.site
        if inventory.nodes and inventory.nodes.cores > 1 and len(inventory.node_names) > 1:
            first, (blas, kernel) = inventory.node_names[0], next(iter(asked.kernels.items()))
            said(Notice(f"Timing messages within {first}"))
            record, figures = self.time(blas, kernel, "shared", "messages", node=first)
            found.timings.append((replace(record, key=WITHIN), figures))
        for turn in range(asked.rounds + 1):
            again, every = turn == asked.rounds, range(len(asked.points))
            head = "Once more, because it was disturbed: " if again else f"Round {turn + 1} of {asked.rounds}: "
            for blas in [blas for blas in asked.kernels if not again or found.is_disturbed(blas)]:
                if stop.requested:
                    return
                said(Notice(f"{head}timing {blas}'s routines on all {inventory.host.physical_cores} cores"))
                found.timings.append(self.time(blas, asked.kernels[blas], f"{blas}-{turn}"))
            numbers = [number for number in every if not again or found.is_disturbed(str(number))]
            if stop.requested:
                return
            yield from random.Random(turn).sample(numbers, len(numbers))  # noqa: S311 - not for secrets
            if numbers:
                said(Notice(f"{head}{len(numbers)} HPL runs to check against are done"))

    def start(self, number: int) -> None:
        """Start HPL with one of the configurations."""
        took_s = [record.cost_s for record in self.found.checks if record.key == str(number) and record.cost_s]
        limits = LaunchLimits(limit_s=CHECK_LIMIT_S, expected_s=max(took_s, default=None))
        point = ListedPoint(params=self.asked.points[number], key=str(number), limits=limits)
        start_point(self.launching, NO_STUDY, point)

    def tell(self, done: LaunchOutcome) -> None:
        """Keep what came of a run of HPL.

        Raises:
            NodesLostError, TunerError: the nodes are not what they were, so that nothing more can be measured.
        """
        checks = self.found.checks
        checks.extend(done.in_order)
        spent = len(checks) / max(len(checks), self.asked.rounds * len(self.asked.points))
        left_s = (time.monotonic() - self.began_s) * (1 / spent - 1)
        self.launching.listener(TrialEnded(checks[-1], spent=spent, left=duration(left_s) if left_s else None))
        done.require_nodes()
        if done.event:
            raise TunerError(f"{done.why}: nothing more is measured")


def measure(workbench: Workbench, asked: MeasurementPlan, listener: Listener, stop: StopRequest) -> Measurements:
    """Time the routines and run the checks in turn, several times over: a drift of the machine then hits both alike.

    The checks run in another order each time, so that something that repeats itself does not always hit the same ones.
    What was disturbed each time is measured once more after the last round.

    Returns:
        What was measured until somebody stopped it.

    Raises:
        TunerError, HplError, RunnerError: a program cannot be built or started, or a node does not come back.
    """
    with _folder(workbench) as folder:
        sites, book = [workbench.evaluator], MemoryBook(folder / "checks")
        launching = Launching(sites=sites, book=book, listener=listener, stop=stop)
        made = Calibration(workbench, asked, folder, launching)
        ask_and_tell(launching, stop, ask=made.rounds(), start=made.start, tell=made.tell)
    return made.found


@contextmanager
def _folder(workbench: Workbench) -> Iterator[Path]:
    """A new folder where runs may write; on a cluster all nodes see it."""
    shared = workbench.user_dirs.data / "runs" if workbench.site.nodes else None
    if shared:
        private_folder(shared)
    with tempfile.TemporaryDirectory(prefix="hpltune-calibrate-", dir=shared, ignore_cleanup_errors=True) as name:
        yield Path(name)


def calibrated_cluster(inventory: Inventory, measured: Measurements, name: str) -> VirtualCluster:
    """Make a virtual cluster of what was measured: this machine as one node, or the nodes of a real cluster."""
    host, rpeak, real = inventory.host, inventory.rpeak, inventory.nodes
    per_cycle = rpeak.flop_per_cycle or 1
    nodes = VirtualNodes(
        count=inventory.node_count,
        cores=real.cores if real else host.physical_cores,
        clock_ghz=rpeak.gflops / (rpeak.cores * per_cycle),
        flops_per_cycle=per_cycle,
        memory_gib=(real.memory_bytes if real else host.memory_available_bytes) / GIB,
        price_usd=(real.cluster.node.price_usd if real else None) or 0.0,
        power_w=(real.cluster.node.power_w if real else None) or 0.0,
    )
    described = f"{inventory.node_count} nodes" if real else host.cpu_model
    today = time.strftime("%Y-%m-%d")
    description = f"{described}, calibrated on {today}"
    timings = measured.counting()
    names = dict.fromkeys(record.key for record, _ in timings)
    pools = {blas: pooled([figures for record, figures in timings if record.key == blas]) for blas in names}
    within = pools.pop(WITHIN, None)
    cluster = this_machine(name, nodes, cache_kib(), pools, description)
    basis, caution = f"measured on {name} by `hpltune calibrate` on {today}", ""
    runs = DisturbedRuns.of(record for record, _ in timings)
    if said := runs.sentence():
        basis += " in disturbed runs" if runs.disturbed else " in runs that may have been disturbed"
        caution = (
            f"The model of {name} may be slower than {name} itself: "
            f"not all runs that timed it are known to be undisturbed. {said}"
        )
    cluster = cluster.model_copy(update={"basis": basis, "caution": caution})
    shared = SharedMemory() if within is None else shared_of(messages_of(within))
    return between_nodes(cluster, shared) if inventory.node_count > 1 else cluster


def cache_kib(root: Path = ROOT) -> float:
    """Second-level cache of the first core in KiB, as the kernel tells."""
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if (index / "level").read_text(encoding="ascii").strip() == "2":
                return float((index / "size").read_text(encoding="ascii").strip().removesuffix("K"))
        except (OSError, ValueError):
            continue
    return CACHE_KIB


@dataclass(frozen=True)
class Check:
    """A real HPL run that no figure was fitted to, beside its simulation.

    Attributes:
        params: the configuration.
        gflops: each valid real run; none where it failed, with the reason.
        simulated: what the calibrated model predicts.
        conditions: disturbed where none of the runs was quiet, so that the machine reaches their rates at least.
    """

    params: Mapping[str, Scalar]
    gflops: tuple[float, ...]
    reason: str
    simulated: Simulated
    conditions: Conditions = Conditions.UNDISTURBED

    @property
    def error(self) -> float | None:
        """Predicted over the median of the real rates, less 1; None where there is no rate to compare."""
        if not self.gflops or not self.simulated.gflops:
            return None
        return self.simulated.gflops / median(self.gflops) - 1


def check_points(
    own: Mapping[str, Scalar], cores: int, largest_n: int, count: int, nodes: int = 1
) -> list[dict[str, Scalar]]:
    """Choose configurations to check: sizes, block sizes, grids and look-ahead, spread over what people try.

    Args:
        own: BLAS, kernel and binding of all.
        cores: of all nodes, one rank each.
    """
    sizes = [grown(N, nodes) for N in SIZES if largest_n >= grown(N, nodes)] or [largest_n]
    grids = [f"{P}x{cores // P}" for P in range(1, cores + 1) if cores % P == 0]
    usual = textbook(N=largest_n, NB=BLOCKS[0], blas="", kernel="", ranks=cores, threads=1)
    return [
        {
            **usual,
            "N": sizes[(number * 2 + 1) % len(sizes)],
            "NB": BLOCKS[number % len(BLOCKS)],
            "grid": grids[number % len(grids)],
            "DEPTH": (number // 2) % 2,
            "SWAP": ("mix", "long", "bin")[number % 3],
            "NBMIN": (4, 8)[(number // 3) % 2],
            **own,
        }
        for number in range(count)
    ]


def grown(N: int, nodes: int) -> int:
    """The size on so many nodes that is as much work for each as N is on one, rounded to a hundred."""
    return 100 * round(N / 100 * math.cbrt(nodes))


def simulate_checks(
    site: SimulatedCluster,
    points: Sequence[Mapping[str, Scalar]],
    measured: Measurements,
    jobs: int,
    stop: StopRequest,
) -> list[Check]:
    """Simulate the configurations whose real runs were measured; fewer where somebody stopped it."""
    wishes = [Wish.of_real(point) for point in points]
    simulated = simulate(site, wishes, jobs=jobs, limit_s=SIMULATION_LIMIT_S, stop=stop)
    return [
        check_of(point, [record for record in measured.checks if record.key == str(number)], one)
        for number, (point, one) in enumerate(zip(points, simulated, strict=False))
    ]


def check_of(params: Mapping[str, Scalar], runs: Sequence[TrialRecord], simulated: Simulated) -> Check:
    """A configuration's check: of its real runs those that count."""
    valid = [run for run in undisturbed(runs) if run.state is TrialState.COMPLETE and run.gflops is not None]
    reason = runs[-1].reason or "no result" if runs and not valid else ""
    found = {run.conditions for run in valid}
    worst = next((one for one in (Conditions.DISTURBED, Conditions.UNKNOWN) if one in found), Conditions.UNDISTURBED)
    return Check(params, tuple(run.gflops for run in valid if run.gflops is not None), reason, simulated, worst)


@dataclass(frozen=True)
class Agreement:
    """Real and predicted rates, configuration by configuration.

    Attributes:
        errors: predicted over real, less 1.
        correlation: Spearman's, from -1 to 1; not a number with fewer than FEWEST configurations.
        winner: the real rate of the predicted winner over the real rate of the real winner, at most 1.
    """

    errors: tuple[float, ...]
    correlation: float
    winner: float

    @property
    def median_error(self) -> float:
        """The median size of the errors."""
        return median(abs(error) for error in self.errors)

    @property
    def largest_error(self) -> float:
        """The size of the largest error."""
        return max(abs(error) for error in self.errors)

    @property
    def bias(self) -> float:
        """The median of the errors with their signs: what they have in common."""
        return median(self.errors)


def agreement_of(checks: Sequence[Check]) -> Agreement | None:
    """How well the predicted rates agree with the medians of the real ones; None where no check has both.

    A disturbed run tells only what the machine reaches at least, so it counts for nothing here.
    """
    told = [row for row in checks if row.error is not None and row.conditions is not Conditions.DISTURBED]
    pairs = [(median(row.gflops), row.simulated.gflops or 0.0) for row in counting(told, lambda _: None)]
    return agreement(*zip(*pairs, strict=True)) if pairs else None


def agreement(real: Sequence[float], predicted: Sequence[float]) -> Agreement:
    """Compare the rates of the same configurations; all are above zero, and there is at least one."""
    order = spearmanr(real, predicted).statistic if len(real) >= FEWEST else math.nan
    chosen = max(range(len(real)), key=lambda number: predicted[number])
    errors = tuple(guess / rate - 1 for rate, guess in zip(real, predicted, strict=True))
    return Agreement(errors, float(order), real[chosen] / max(real))
