"""Choosing N so that a study fits its budget, and telling what a larger N would give."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hpl.flops import flop_count

from .least_squares import non_negative

STEP = 64
"""N is rounded down to a multiple of this: a whole number of cache lines, and of most NB worth trying."""
SMALLEST_N = 512
RUNS_IN_BUDGET = 30
"""Runs a study should have room for: enough for a few points per dimension and the confirmation of three."""
MOST_IN_BUDGET = 300
"""Runs that a grid should have room for at most; N follows from it, and tiny runs tell little."""
ROUGH_BELOW = 0.3
"""Predictions from runs below this part of N were 2 to 10 % off in the Dahu data."""


@dataclass(frozen=True)
class Sample:
    """One valid run of a configuration: its N, HPL's own time, and the wall time of the whole launch, in seconds."""

    N: int
    time_s: float
    cost_s: float


def launch_s(samples: Sequence[Sample], N: int) -> float:
    """Wall seconds that a launch at N will probably take, rather more than less.

    The solve is taken as N^3 work at the rate of the largest sample (a lower bound: the rate grows with N); start,
    matrix generation and checking are taken to grow as N^2 from the same sample, and not to shrink below it.

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
    """The N whose whole launch takes about `cost_s` seconds by `launch_s`.

    Where starting alone takes most of that, the solve still gets half: a launch that hardly computes says nothing.

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


@dataclass(frozen=True)
class Extrapolation:
    """HPL's time at a larger N, predicted from smaller runs of the same configuration.

    Attributes:
        coefficients: a, b, c of T = a N^3 + b N^2 + c N, all at least zero.
        time_s, gflops: predicted for `N`.
        largest_n: N of the largest run it is made from.
    """

    N: int
    coefficients: tuple[float, float, float]
    time_s: float
    gflops: float
    largest_n: int

    @property
    def rough(self) -> bool:
        """Whether the runs were so small against N that the prediction may be off by more than a few percent."""
        return self.largest_n < ROUGH_BELOW * self.N

    def at_most(self, gflops: float) -> "Extrapolation":
        """The same, with no more promised than what can be: runs that scatter can bend the curve beyond it.

        Args:
            gflops: the peak, or what was measured where that is more, as where a machine hides its clock.
        """
        if self.gflops <= gflops:
            return self
        return replace(self, gflops=gflops, time_s=flop_count(self.N) / gflops / 1e9)


def extrapolate(samples: Sequence[Sample], N: int) -> Extrapolation:
    """Predict HPL's time at N by non-negative least squares on relative errors of T = a N^3 + b N^2 + c N.

    Runs up to 0.4 N predicted the time of 960-rank runs within 1.5 % this way (Dahu data, Cornebize and Legrand);
    from smaller ones it is optimistic by several percent.

    Args:
        samples: runs at one or more N; three different N fix all coefficients.

    Raises:
        ValueError: without samples.
    """
    if not samples:
        raise ValueError("nothing to extrapolate from")
    sizes = np.array([sample.N for sample in samples], dtype=float)
    times = np.array([sample.time_s for sample in samples])
    terms = np.stack([sizes**3, sizes**2, sizes], axis=1) / times[:, None]
    scale = terms.max(axis=0)
    a, b, c = (float(value) for value in non_negative(terms / scale, np.ones(len(samples))) / scale)
    time_s = a * N**3 + b * N**2 + c * N
    return Extrapolation(N, (a, b, c), time_s, flop_count(N) / time_s / 1e9, max(sample.N for sample in samples))
