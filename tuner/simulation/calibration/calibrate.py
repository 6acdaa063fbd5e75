"""`hpltune calibrate`: time this machine's routines, and hold real HPL runs against what follows from them."""

import math
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from hpl.build.programs import Recipe, build_calibrator
from hpl.params import Scalar
from hpl.peak.cpuinfo import ROOT
from runners.paths import RunPaths
from runners.toml_file import GIB
from runners.virtual.cluster import Nodes, SharedMemory, VirtualCluster

from ...errors import TunerError
from ...events import Listener, Notice
from ...machine.calibrator import Figures, between_nodes, messages_of, parse_figures, pooled, shared_of, this_machine
from ...machine.cluster_nodes import only
from ...machine.textbook import textbook
from ...stopping import StopRequest
from ...trial.evaluate import Evaluator
from ...trial.plan import plan
from ...trial.workbench import Workbench
from ..batch import Simulated, Wish, simulate
from ..cluster import SimulatedCluster

CALIBRATOR_LIMIT_S = 600.0
LEAST_N = 1000
"""Of the plan that tells where the calibrator's ranks are; they compute no matrix."""
CACHE_KIB = 512.0
"""Second-level cache of a core where the kernel does not tell."""


@dataclass(frozen=True)
class Check:
    """A real HPL run that no figure was fitted to.

    Attributes:
        params: the configuration.
        gflops: each valid real run; none where it failed, with the reason.
        simulated: what the calibrated model predicts.
    """

    params: Mapping[str, Scalar]
    gflops: tuple[float, ...]
    reason: str
    simulated: Simulated

    @property
    def error(self) -> float | None:
        """Predicted over the median of the real rates, less 1."""
        if not self.gflops or not self.simulated.gflops:
            return None
        return self.simulated.gflops / median(self.gflops) - 1


@dataclass
class Measurements:
    """All that was measured, by BLAS and by configuration.

    Attributes:
        shared: messages within a node; of a cluster, where it was measured.
    """

    figures: dict[str, list[Figures]] = field(default_factory=dict)
    rates: dict[int, list[float]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    shared: SharedMemory = field(default_factory=SharedMemory)


def check_points(
    cores: int, blas: str, kernel: str, largest_n: int, count: int, *, nodes: int = 1, binding: str = "core"
) -> list[dict[str, Scalar]]:
    """Configurations to check: sizes, block sizes, grids and look-ahead, spread over what people try.

    Args:
        nodes: their number; sizes grow with its cube root, which keeps the work of each alike.
    """
    sizes = [grown(N, nodes) for N in (2000, 3000, 4000, 6000, 8000) if largest_n >= grown(N, nodes)] or [largest_n]
    grids = [(P, cores // P) for P in range(1, cores + 1) if cores % P == 0]
    blocks = (128, 64, 256, 192, 96, 384)
    points: list[dict[str, Scalar]] = []
    for number in range(count):
        P, Q = grids[number % len(grids)]
        N, NB = sizes[(number * 2 + 1) % len(sizes)], blocks[number % len(blocks)]
        point = textbook(N=N, NB=NB, blas=blas, kernel=kernel, ranks=cores, threads=1)
        changes: dict[str, Scalar] = {
            "grid": f"{P}x{Q}",
            "DEPTH": (number // 2) % 2,
            "SWAP": ("mix", "long", "bin")[number % 3],
        }
        points.append({**point, **changes, "NBMIN": (4, 8)[(number // 3) % 2], "binding": binding})
    return points


def grown(N: int, nodes: int) -> int:
    """The size on so many nodes that is as much work for each as N is on one, to a hundred."""
    return 100 * round(N / 100 * math.cbrt(nodes))


def measure(
    workshop: Workbench,
    kernels: Mapping[str, str],
    points: Sequence[Mapping[str, Scalar]],
    rounds: int,
    listener: Listener,
    stop: StopRequest,
    binding: str = "core",
) -> Measurements:
    """Time the routines and run the checks in turn, several times over, so that a drift of the machine hits both alike.

    The checks come in another order each time, so that nothing that repeats itself hits always the same of them.

    Args:
        kernels: kernel of each BLAS to time.
        binding: what ranks of the calibrator are bound to.

    Raises:
        HplError, RunnerError: a program cannot be built or started.
    """
    found = Measurements()
    site = workshop.site
    cores, (first, kernel) = site.host.physical_cores, next(iter(kernels.items()))
    with _folder(workshop) as folder:
        if site.nodes and site.nodes.cores > 1 and len(site.node_names) > 1:
            listener(Notice(f"Timing messages within {site.node_names[0]}"))
            text = _run_calibrator(_first_node(workshop), first, kernel, binding, folder / "shared", stop, "messages")
            found.shared = shared_of(messages_of(parse_figures(text)))
        for turn in range(rounds):
            for blas, one in kernels.items():
                if stop.requested:
                    return found
                listener(Notice(f"Round {turn + 1} of {rounds}: timing {blas}'s routines on all {cores} cores"))
                text = _run_calibrator(workshop.evaluator, blas, one, binding, folder / f"{blas}-{turn}", stop)
                found.figures.setdefault(blas, []).append(parse_figures(text))
            for number in random.Random(turn).sample(range(len(points)), len(points)):  # noqa: S311 - not for secrets
                if stop.requested:
                    return found
                trial = plan(points[number], workshop.site)
                run = workshop.evaluator.evaluate(trial, folder / f"{turn}-{number}", 600.0, lambda _: None, stop)
                fault = run.verdict.faults[0]
                if fault or not run.verdict.results:
                    found.reasons[number] = fault.reason if fault else "no result"
                else:
                    found.rates.setdefault(number, []).append(run.verdict.results[0].gflops)
            if points:
                listener(Notice(f"Round {turn + 1} of {rounds}: {len(points)} HPL runs to check against are done"))
    return found


def cluster_of(workshop: Workbench, measured: Measurements, name: str) -> VirtualCluster:
    """What was measured as a virtual cluster: this machine as one node, or the nodes of a real cluster."""
    site = workshop.site
    host, rpeak, real = site.host, site.rpeak, site.nodes
    per_cycle = rpeak.flop_per_cycle or 1
    nodes = Nodes(
        count=site.node_count,
        cores=real.cores if real else host.physical_cores,
        clock_ghz=rpeak.gflops / (rpeak.cores * per_cycle),
        flops_per_cycle=per_cycle,
        memory_gib=(real.memory_bytes if real else host.memory_available_bytes) / GIB,
        price_usd=(real.cluster.node.price_usd if real else None) or 0.0,
        power_w=(real.cluster.node.power_w if real else None) or 0.0,
    )
    described = f"{site.node_count} nodes" if real else host.cpu_model
    description = f"{described}, calibrated on {time.strftime('%Y-%m-%d')}"
    pools = {blas: pooled(runs) for blas, runs in measured.figures.items()}
    cluster = this_machine(name, nodes, cache_kib(), pools, description)
    return between_nodes(cluster, measured.shared) if site.node_count > 1 else cluster


def check(
    site: SimulatedCluster,
    points: Sequence[Mapping[str, Scalar]],
    measured: Measurements,
    slots: int,
    stop: StopRequest,
) -> list[Check]:
    """Simulate the checked configurations."""
    simulated = simulate(site, [Wish.of_real(point) for point in points], slots=slots, limit_s=600.0, stop=stop)
    return [
        Check(point, tuple(measured.rates.get(number, ())), measured.reasons.get(number, ""), simulated[number])
        for number, point in enumerate(points[: len(simulated)])
    ]


def cache_kib(root: Path = ROOT) -> float:
    """Second-level cache of the first core."""
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if (index / "level").read_text(encoding="ascii").strip() == "2":
                return float((index / "size").read_text(encoding="ascii").strip().removesuffix("K"))
        except (OSError, ValueError):
            continue
    return CACHE_KIB


@contextmanager
def _folder(workshop: Workbench) -> Iterator[Path]:
    """Where runs may write: on a cluster where all nodes see it."""
    shared = workshop.places.data / "runs" if workshop.site.nodes else None
    if shared:
        shared.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hpltune-calibrate-", dir=shared, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _first_node(workshop: Workbench) -> Evaluator:
    return replace(workshop.evaluator, site=only(workshop.site, workshop.site.node_names[:1]))


def _run_calibrator(
    evaluator: Evaluator, blas: str, kernel: str, binding: str, folder: Path, stop: StopRequest, *arguments: str
) -> str:
    site = evaluator.site
    library = site.library(blas, 1)
    if library is None or evaluator.source is None:
        raise TunerError("calibrating needs a BLAS of this machine; a program of your own hides its routines")
    program = build_calibrator(Recipe(evaluator.source, site.mpi, library), evaluator.search)
    point = textbook(N=LEAST_N, NB=64, blas=blas, kernel=kernel, ranks=site.host.physical_cores, threads=1)
    every_core = plan({**point, "binding": binding}, site)
    status = evaluator.run_program(program, arguments, every_core, folder, CALIBRATOR_LIMIT_S, stop)
    if status.exit_code != 0 and not stop.requested:
        raise TunerError(f"timing {blas}'s routines failed: {status.message}")
    return RunPaths(folder).read_stdout()
