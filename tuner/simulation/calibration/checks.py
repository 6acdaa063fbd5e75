"""HPL runs that a calibrated model is checked against: which configurations, and what the model predicts of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from hpl.params import Scalar

from ...machine.textbook import textbook
from ...stopping import StopRequest
from ..batch import Simulated, Wish, simulate
from ..cluster import SimulatedCluster
from .agreement import Agreement, agreement
from .measure import Measurements

SIMULATION_LIMIT_S = 600.0
SIZES = (2000, 3000, 4000, 6000, 8000)
"""Values of N on one node."""
BLOCKS = (128, 64, 256, 192, 96, 384)
"""Values of NB."""


@dataclass(frozen=True)
class Check:
    """A real HPL run that no figure was fitted to, beside its simulation.

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
        """Predicted over the median of the real rates, less 1; None where there is no rate to compare."""
        if not self.gflops or not self.simulated.gflops:
            return None
        return self.simulated.gflops / median(self.gflops) - 1


@dataclass(frozen=True)
class CheckedRanks:
    """How the checks run: on all cores, one rank each."""

    cores: int
    blas: str
    kernel: str
    nodes: int = 1
    binding: str = "core"


def check_points(ranks: CheckedRanks, largest_n: int, count: int) -> list[dict[str, Scalar]]:
    """Choose configurations to check: sizes, block sizes, grids and look-ahead, spread over what people try."""
    sizes = [grown(N, ranks.nodes) for N in SIZES if largest_n >= grown(N, ranks.nodes)] or [largest_n]
    grids = [(P, ranks.cores // P) for P in range(1, ranks.cores + 1) if ranks.cores % P == 0]
    points: list[dict[str, Scalar]] = []
    for number in range(count):
        P, Q = grids[number % len(grids)]
        N, NB = sizes[(number * 2 + 1) % len(sizes)], BLOCKS[number % len(BLOCKS)]
        point = textbook(N=N, NB=NB, blas=ranks.blas, kernel=ranks.kernel, ranks=ranks.cores, threads=1)
        changes: dict[str, Scalar] = {
            "grid": f"{P}x{Q}",
            "DEPTH": (number // 2) % 2,
            "SWAP": ("mix", "long", "bin")[number % 3],
            "NBMIN": (4, 8)[(number // 3) % 2],
            "binding": ranks.binding,
        }
        points.append({**point, **changes})
    return points


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
        Check(point, tuple(measured.rates.get(number, ())), measured.reasons.get(number, ""), one)
        for number, (point, one) in enumerate(zip(points, simulated, strict=False))
    ]


def agreement_of(checks: Sequence[Check]) -> Agreement | None:
    """How well the predicted rates agree with the medians of the real ones; None where no check has both."""
    pairs = [(median(row.gflops), row.simulated.gflops) for row in checks if row.gflops and row.simulated.gflops]
    return agreement(*zip(*pairs, strict=True)) if pairs else None
