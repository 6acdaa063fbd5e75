"""Chooses N so that a study fits its budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpl.flops import flop_count

STEP = 64
"""N is rounded down to a multiple of this: a whole number of cache lines, and of most NB worth trying."""
SMALLEST_N = 512
RUNS_IN_BUDGET = 30
"""Runs a study should have room for: enough for a few points per dimension and the confirmation of three."""
MOST_IN_BUDGET = 300
"""Runs that a grid should have room for at most; N follows from it, and tiny runs tell little."""


@dataclass(frozen=True)
class Sample:
    """One valid run of a configuration: its N, HPL's own time, and the wall time of the whole launch, in seconds."""

    N: int
    time_s: float
    cost_s: float


def launch_s(samples: Sequence[Sample], N: int) -> float:
    """Estimate the wall seconds of a launch at N, rather too high than too low.

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
