"""Chooses N so that a study fits its budget, and the textbook's values of the other parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hpl.params import HplParams, Scalar
from hpl.sizing import NodeShare, flop_count, fraction_done, n_for_memory, process_grids

from .inventory import Inventory, matrix_memory_bytes, own_blas

NB_BY_KERNEL = {
    "skylakex": 384, "cooperlake": 384, "sapphirerapids": 384, "zen": 256, "haswell": 256, "sandybridge": 256,
    "neoversen1": 320, "neoversev1": 320, "cortexa76": 256, "cortexa72": 128, "armv8": 128,
}  # fmt: skip
"""K-blocking of OpenBLAS' dgemm (DGEMM_DEFAULT_Q in param.h): HPL's update has K = NB, so it is the natural NB."""
NB_BY_FAMILY = {"blis": 256, "mkl": 384, "nvblas": 512, "atlas": 160, "reference": 64}
"""K-blocking of BLIS' haswell, zen and skx configurations; Intel's advice for AVX-512; measured for ATLAS."""
NB_UNKNOWN = 192
MEMORY_FRACTION = 0.8
"""Part of the free memory HPL's FAQ advises for the matrix."""


def natural_nb(inventory: Inventory, blas: str) -> int:
    """The NB that fits the BLAS' own blocking (192 where that is not known)."""
    if not inventory.program.takes_blas:
        return inventory.program.terms.usual_nb
    entry = inventory.named(blas)
    probe = inventory.best_probe(blas)
    if entry.family == "openblas" and probe is not None:
        return NB_BY_KERNEL.get(probe.kernel_used.lower(), NB_UNKNOWN)
    return NB_BY_FAMILY.get(entry.family, NB_UNKNOWN)


def textbook(*, N: int, NB: int, blas: str, kernel: str, ranks: int, threads: int) -> dict[str, Scalar]:
    """HPL's documented advice as a point: squarest grid with P <= Q, 1rM, look-ahead 1, mix swapping."""
    P, Q = process_grids(ranks)[0]
    words = HplParams(N=N, NB=NB, P=P, Q=Q).words()
    return {**words, "blas": blas, "kernel": kernel, "layout": f"{ranks}x{threads}", "binding": "core"}


def first_choice(inventory: Inventory) -> Mapping[str, Scalar]:
    """BLAS and kernel with the fastest dgemm here."""
    if not inventory.program.takes_blas:
        return {"blas": own_blas(inventory), "kernel": "auto"}
    best = inventory.ranked_blas()[0]
    probe = inventory.best_probe(best.name)
    return {"blas": best.name, "kernel": probe.kernel if probe else "auto"}


STEP = 64
"""N is rounded down to a multiple of this: a whole number of cache lines, and of most NB worth trying."""


def full_memory_n(
    inventory: Inventory, NB: int = STEP, P: int = 1, Q: int | None = None, fraction: float = MEMORY_FRACTION
) -> int:
    """The largest N whose matrix takes `fraction` of the memory that is free now; one process row by default.

    Args:
        Q: process columns; None for one on each core.
    """
    Q = Q or inventory.host.physical_cores
    return n_for_memory(
        [NodeShare(memory_bytes=matrix_memory_bytes(inventory), ranks=P * Q)], fraction=fraction, NB=NB, P=P, Q=Q
    )


def matrix_bytes(N: int) -> int:
    """The memory of a matrix of order N in bytes, without the buffers of MPI and of the BLAS."""
    return 8 * N * N


SMALLEST_N = 512
RUNS_IN_BUDGET = 30
"""Runs a study should have room for: enough for a few points per dimension and the confirmation of three."""
IN_TURN = 1.0 / 3.0
"""Part of a budget of time in which the best, the textbook and others run in turn at a larger N than before."""
MOST_IN_BUDGET = 300
"""Runs that a grid should have room for at most; N follows from it, and tiny runs tell little."""


@dataclass(frozen=True)
class Sample:
    """One valid run of a configuration, or one that was stopped at a column.

    Attributes:
        time_s: HPL's own time, or that up to the column.
        cost_s: wall time of the whole launch.
        part: of the columns, 1 for the whole run.
        disturbed: something took the machine from it, so that it took longer than others will.
    """

    N: int
    time_s: float
    cost_s: float
    part: float = 1.0
    disturbed: bool = False

    def first(self, part: float) -> "Sample":
        """What its first columns take, where a whole run was measured."""
        saved_s = self.time_s * (1 - fraction_done(1, part))
        return replace(self, time_s=self.time_s - saved_s, cost_s=self.cost_s - saved_s, part=part)


def launch_s(samples: Sequence[Sample], N: int) -> float:
    """Estimate the wall seconds of a launch at N like the samples' own, rather too high than too low.

    The solve grows as N^3 at the rate of the largest sample (a lower bound: the rate grows with N). Start, matrix
    generation and checking grow as N^2 from the same sample, and do not shrink below it.

    Args:
        samples: at least one run.
    """
    return _solve_s(samples, N) + _rest_s(samples, N)


def _solve_s(samples: Sequence[Sample], N: int) -> float:
    last = max(samples, key=lambda sample: sample.N)
    return last.time_s * flop_count(N) / flop_count(last.N)


def _rest_s(samples: Sequence[Sample], N: int) -> float:
    last = max(samples, key=lambda sample: sample.N)
    return max(last.cost_s - last.time_s, 0.0) * max(1.0, (N / last.N) ** 2)


def affordable_n(samples: Sequence[Sample], cost_s: float, largest_n: int) -> int:
    """Find the N whose whole launch takes about `cost_s` seconds by `launch_s`.

    The solve gets at least half of that time even if starting takes more: a launch that hardly computes tells little.

    Args:
        samples: at least one run.
        largest_n: what fits the memory.

    Returns:
        A multiple of 64 between 512 and `largest_n`.
    """
    low, high = SMALLEST_N // STEP, max(SMALLEST_N, largest_n) // STEP + 1
    while high - low > 1:
        middle = (low + high) // 2
        allowed_s = max(cost_s - _rest_s(samples, middle * STEP), cost_s / 2)
        low, high = (middle, high) if _solve_s(samples, middle * STEP) <= allowed_s else (low, middle)
    return low * STEP
