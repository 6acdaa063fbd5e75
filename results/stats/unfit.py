"""Whether the runs of a study are outside of what its confidence can be computed for, and why.

The confidence stands on one noise that is the same for all runs, with some disturbed ones, and on one speed of the
machine but for a step. Runs that differ by more, two speeds, or a speed that moves during the search, in which each
configuration is confounded with its time, are outside of it: then no percentage is told.
"""

import math
from collections.abc import Sequence

import numpy as np

from .levels import change
from .noise import Array, noise_of
from .ranking import Ranked

MOST_NOISE = 0.05
"""Standard deviation of runs, as a part of 1, above which the confidence is too high (benchmarks/coverage.py)."""
SURELY = 0.1
"""The noise counts as above MOST_NOISE where it has this probability to be."""
MOVED = 0.02
"""Change of the machine from the search to the confirmation, as a part of 1, that is no noise of its runs."""
SPEEDS_APART = 4.0
"""Two speeds are so many times further apart than the runs of each differ."""
LEAST_APART = 0.02
"""Smaller differences are not two speeds but noise, in logarithms."""
LEAST_SLOW = 2
"""Runs at the slower speed from which it is a speed and not a disturbed run."""


def unfit(entries: Sequence[Ranked], shown: float = 0.0, moved: float = 0.0) -> str:
    """Say why no confidence can be told; "" where it can.

    Args:
        entries: a ranking, with the rates as they were measured.
        shown: noise of the machine from other runs, as in `noise.noise_of`.
        moved: relative change of the machine that the reference configuration showed during the search.
    """
    changed = max((moved, change(entries, shown)), key=abs)
    if abs(changed) > MOVED:
        did = "sped up" if changed > 0 else "slowed"
        return (
            f"the machine {did} by {100 * abs(changed):.0f} % meanwhile, so runs at different times cannot be compared"
        )
    runs = [np.log(np.array(entry.gflops)) for entry in entries if entry.runs > 1]
    if not runs:
        return ""
    off = np.concatenate([own - own.mean() for own in runs])
    freedom = len(off) - len(runs)
    sd = math.sqrt(float((off**2).sum()) / freedom)
    noise = noise_of(runs, shown)
    above = float(noise.weights @ (noise.sizes > MOST_NOISE))
    if max(sd, shown) > MOST_NOISE or above > SURELY:
        most = max(sd, shown, noise.usual)
        return (
            f"runs of one configuration differ by {100 * most:.0f} % (standard deviation), which is too noisy to rank"
        )
    apart = two_speeds(runs)
    if apart:
        return f"the machine has two speeds, about {100 * apart:.0f} % apart, and which one a run had is not known"
    return ""


def two_speeds(runs: Sequence[Array]) -> float:
    """Return how far two speeds of a machine are apart, in logarithms; 0.0 where there is one.

    The runs of each configuration, from its fastest one, fall into two heaps with a gap between them that is far wider
    than each heap.

    Args:
        runs: the logarithms of the rates of each configuration that ran several times.
    """
    below = np.sort(np.concatenate([own.max() - own for own in runs]))
    gaps = np.diff(below)
    place = int(np.argmax(gaps)) + 1
    near, far = below[:place], below[place:]
    inner = max(float(np.ptp(near)), float(np.ptp(far)), 0.0025) / 2
    apart = float(np.median(far) - np.median(near))
    if len(far) < LEAST_SLOW or apart < LEAST_APART or float(gaps[place - 1]) < SPEEDS_APART / 2 * inner:
        return 0.0
    return apart
