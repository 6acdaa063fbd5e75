"""`hpltune calibrate`: time this machine's routines, and hold real HPL runs against what follows from them."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from hpl.build import Recipe, build_calibrator
from hpl.cpuinfo import ROOT
from runners.job import Job
from runners.paths import RunPaths
from runners.toml_file import GIB
from runners.virtual.cluster import Nodes, VirtualCluster

from ..errors import TunerError
from ..events import Listener, Notice
from ..plan import Scalar, plan
from ..stopping import StopRequest
from ..textbook import textbook
from ..workshop import Workshop
from .batch import Simulated, Wish, simulate
from .figures import Figures, parse_figures, pooled, this_machine
from .site import VirtualSite

CALIBRATOR_LIMIT_S = 600.0
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
    """All that was measured, by BLAS and by configuration."""

    figures: dict[str, list[Figures]] = field(default_factory=dict)
    rates: dict[int, list[float]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


def check_points(cores: int, blas: str, kernel: str, largest_n: int, count: int) -> list[dict[str, Scalar]]:
    """Configurations to check: sizes, block sizes, grids and look-ahead, spread over what people try."""
    sizes = [N for N in (2000, 3000, 4000, 6000, 8000) if largest_n >= N] or [largest_n]
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
        points.append({**point, **changes, "NBMIN": (4, 8)[(number // 3) % 2]})
    return points


def measure(
    workshop: Workshop,
    kernels: Mapping[str, str],
    points: Sequence[Mapping[str, Scalar]],
    rounds: int,
    listener: Listener,
    stop: StopRequest,
) -> Measurements:
    """Time the routines and run the checks in turn, several times over, so that a drift of the machine hits both alike.

    Args:
        kernels: kernel of each BLAS to time.

    Raises:
        HplError, RunnerError: a program cannot be built or started.
    """
    found = Measurements()
    cores = workshop.site.host.physical_cores
    with tempfile.TemporaryDirectory(prefix="hpltune-calibrate-") as name:
        folder = Path(name)
        for turn in range(rounds):
            for blas, kernel in kernels.items():
                if stop.requested:
                    return found
                listener(Notice(f"Round {turn + 1} of {rounds}: timing {blas}'s routines on all {cores} cores"))
                text = _run_calibrator(workshop, blas, kernel, folder / f"{blas}-{turn}", stop)
                found.figures.setdefault(blas, []).append(parse_figures(text))
            for number, point in enumerate(points):
                if stop.requested:
                    return found
                trial = plan(point, workshop.site)
                run = workshop.evaluator.evaluate(trial, folder / f"{turn}-{number}", 600.0, lambda _: None, stop)
                fault = run.verdict.faults[0]
                if fault or not run.verdict.results:
                    found.reasons[number] = fault.reason if fault else "no result"
                else:
                    found.rates.setdefault(number, []).append(run.verdict.results[0].gflops)
            listener(Notice(f"Round {turn + 1} of {rounds}: {len(points)} HPL runs to check against are done"))
    return found


def cluster_of(workshop: Workshop, figures: Mapping[str, Sequence[Figures]], name: str) -> VirtualCluster:
    """This machine as a virtual cluster of one node."""
    host, rpeak = workshop.site.host, workshop.site.rpeak
    nodes = Nodes(
        count=1,
        cores=host.physical_cores,
        clock_ghz=rpeak.clock_ghz or 1.0,
        flops_per_cycle=rpeak.flop_per_cycle or 1,
        memory_gib=host.memory_available_bytes / GIB,
    )
    description = f"{host.cpu_model}, calibrated on {time.strftime('%Y-%m-%d')}"
    return this_machine(name, nodes, cache_kib(), {blas: pooled(runs) for blas, runs in figures.items()}, description)


def check(
    site: VirtualSite, points: Sequence[Mapping[str, Scalar]], measured: Measurements, slots: int, stop: StopRequest
) -> list[Check]:
    """Simulate the checked configurations."""
    wishes = [Wish({**point, "kernel": "auto"}) for point in points]
    simulated = simulate(site, wishes, slots=slots, limit_s=600.0, stop=stop)
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


def _run_calibrator(workshop: Workshop, blas: str, kernel: str, folder: Path, stop: StopRequest) -> str:
    site, evaluator = workshop.site, workshop.evaluator
    library = site.library(blas, 1)
    if library is None or evaluator.source is None:
        raise TunerError("calibrating needs a BLAS of this machine; a program of your own hides its routines")
    program = build_calibrator(Recipe(evaluator.source, site.mpi, library), evaluator.search)
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(
        program=(str(program.path),),
        ranks=site.host.physical_cores,
        environment=site.environment(blas, kernel, 1),
        directory=folder,
        walltime_s=CALIBRATOR_LIMIT_S,
        launcher_environment=dict(site.mpi.environment),
        mpi=site.mpi.name,
    )
    status = evaluator.run_job(job, lambda _: None, stop)
    if status.exit_code != 0 and not stop.requested:
        raise TunerError(f"timing {blas}'s routines failed: {status.message}")
    return RunPaths(folder).read_stdout()
