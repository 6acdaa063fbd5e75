"""Whether the runs of a study are outside of what its confidence can be computed for, and why.

The confidence stands on one noise that is the same for all runs, with some disturbed ones, and on one speed of the
machine but for a step. Runs that differ by more, two speeds, or a speed that moves during the search, in which each
configuration is confounded with its time, are outside of it: then no percentage is told. Of a steady machine with one
speed two_speeds says wrongly in reference.FALSE_ALARM of the studies that it has two.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..disturbance import Conditions
from .levels import change, did_words, drift_corrected
from .noise import Array, noise_of
from .ranking import Ranked, relative_sd

FALSE_ALARM = 0.02
"""Part of the studies on a steady machine in which a test says that it is not steady."""
MOST_NOISE = 0.05
"""Standard deviation of runs, as a part of 1, above which the confidence is too high (benchmarks/covered.py)."""
SURELY = 0.1
"""The noise counts as above MOST_NOISE where it has this probability to be."""
MOVED = 0.02
"""Change of the machine from the search to the confirmation, as a part of 1, that is no noise of its runs."""
LEAST_APART = 0.02
"""Smaller differences are not two speeds but noise, in logarithms."""
LEAST_SLOW = 2
"""Runs at each of two speeds from which it is a speed and not a disturbed run."""
LEAST_SD = 0.0025
"""Runs count as differing by this much at least, in logarithms."""
DRAWN = 4000
"""Studies of a machine with one speed that are drawn to know what is rare there."""
MOST_RUNS = 200
"""Runs that are looked at: those of the first configurations that reach this number."""


def unfit(entries: Sequence[Ranked], shown: float = 0.0, moved: float = 0.0) -> str:
    """Say why no confidence can be told; "" where it can.

    Args:
        entries: a ranking, with the rates as they were measured.
        shown: noise of the machine from other runs, or assumed of a busy one, as in `noise.noise_of`: enough repeats
            overrule it.
        moved: relative change of the machine that the reference configuration showed during the search.
    """
    changed = max((moved, change(entries, shown)), key=abs)
    if abs(changed) > MOVED:
        return f"the machine {did_words(changed)} meanwhile, so runs at different times cannot be compared"
    runs = [np.log(np.array(entry.repeats)) for entry in entries if entry.repeats]
    if not runs:
        return ""
    off = np.concatenate([own - own.mean() for own in runs])
    freedom = len(off) - len(runs)
    sd = math.sqrt(float((off**2).sum()) / freedom)
    noise = noise_of(runs, shown)
    above = float(noise.weights @ (noise.sizes > MOST_NOISE))
    if sd > MOST_NOISE or above > SURELY:
        return _too_noisy(entries, sd, shown)
    apart = two_speeds(runs)
    if apart:
        return f"the machine has two speeds, about {100 * apart:.0f} % apart, and which one a run had is not known"
    return ""


def untold_by_disturbance(entries: Sequence[Ranked]) -> str:
    """Say which configuration may be the fastest though no run of it is known to be undisturbed; "" where none may.

    Args:
        entries: a ranking, best first.
    """
    if entries and all(entry.unknown == entry.runs for entry in entries):
        return "of no run it is known whether something disturbed it"
    for rank, entry in enumerate(entries, start=1):
        if entry.conditions is Conditions.UNDISTURBED:
            continue
        if entry.may_reach_gflops > entries[0].expected_gflops * (rank > 1):
            return f"no. {rank} may be faster than its rate, because {_not_quiet(entry)}"
    return ""


def _not_quiet(entry: Ranked) -> str:
    """Say what is known of the runs of a configuration of which none is known to be undisturbed."""
    its, were, them = ("its only run", "was", "it") if entry.runs == 1 else (f"its {entry.runs} runs", "were", "them")
    if entry.disturbance is None:
        return f"of {its} it is not known whether something disturbed {them}"
    disturbed = f"of {its} {entry.runs - entry.unknown}" if entry.unknown else its if entry.runs == 1 else f"all {its}"
    return f"{disturbed} {were} disturbed ({entry.disturbance})"


def _too_noisy(entries: Sequence[Ranked], sd: float, shown: float) -> str:
    """Say how much runs differ, as measured, and what makes that too much or not sure enough."""
    differ = 100 * (relative_sd(drift_corrected(entries, shown)) or sd)
    if sd > MOST_NOISE:
        return f"runs of one configuration differ by {differ:.1f} % (standard deviation), which is too noisy to rank"
    first = "at the start other programs ran or runs differed much, and " if shown > MOST_NOISE else ""
    return (
        f"{first}too few runs were repeated, which differ by {differ:.1f} % (standard deviation), to rule out a noise "
        f"of {100 * MOST_NOISE:.0f} %, which would be too much to rank"
    )


def two_speeds(runs: Sequence[Array]) -> float:
    """Return how far two speeds of a machine are apart, in logarithms; 0.0 where there is one.

    The runs of each configuration, from its fastest one, fall into two heaps that are further apart, against how the
    runs of each heap differ, than in all but FALSE_ALARM of the studies whose runs differ normally.

    Args:
        runs: the logarithms of the rates of each configuration that ran several times.
    """
    few, counted = list[Array](), 0
    for own in runs:
        few += [own[:MOST_RUNS]] if counted < MOST_RUNS else []
        counted += len(own)
    off = np.concatenate([own.max() - own for own in few]) if few else np.zeros(0)
    if len(off) < 2 * LEAST_SLOW:
        return 0.0
    (apart,), (distance,) = _heaps(off[None, :], LEAST_SD)
    usual = _rarely_above(tuple(sorted(map(len, few)))) if distance >= LEAST_APART else math.inf
    return float(distance) if apart > usual else 0.0


def _heaps(off: Array, least_sd: float) -> tuple[Array, Array]:
    """Split each row into the two heaps that are furthest apart against how the runs of each differ.

    Returns:
        How far they are apart in standard deviations, and in the unit of the rows.
    """
    below = np.sort(off, axis=1)
    count = below.shape[1]
    near = np.arange(LEAST_SLOW, count - LEAST_SLOW + 1)
    sums, squares = np.cumsum(below, axis=1), np.cumsum(below**2, axis=1)
    lower, upper = sums[:, near - 1] / near, (sums[:, -1:] - sums[:, near - 1]) / (count - near)
    within = squares[:, -1:] - near * lower**2 - (count - near) * upper**2
    sd = np.sqrt(np.maximum(within, 0.0) / (count - 2) + least_sd**2)
    apart = (upper - lower) / sd
    best = np.argmax(apart, axis=1)[:, None]
    return np.take_along_axis(apart, best, 1)[:, 0], np.take_along_axis(upper - lower, best, 1)[:, 0]


@lru_cache(maxsize=256)
def _rarely_above(sizes: tuple[int, ...]) -> float:
    """Return how far the heaps of so many runs of each configuration are apart, in all but FALSE_ALARM of studies."""
    chance = np.random.default_rng(sizes)
    drawn = [chance.standard_normal((DRAWN, size)) for size in sizes]
    off = np.concatenate([own.max(axis=1, keepdims=True) - own for own in drawn], axis=1)
    return float(np.quantile(_heaps(off, 0.0)[0], 1 - FALSE_ALARM))
