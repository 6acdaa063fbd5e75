"""Estimates the speed of the machine at each time of a study, to compare runs of different times.

A study has a search and then rounds in which each finalist runs once. Configurations that ran both in a round and
before it show by how much the machine changed. Without clear evidence the machine counts as unchanged, because the
finalists were chosen for fast runs and so tend to be a little slower later.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .noise import Array, evidence_of, usual_evidence
from .ranking import Ranked, Time

CHANGED = 0.1
"""Prior probability that a machine is faster or slower in the next round."""
CHANGE = 0.3
"""Mean size of such a change, in the logarithm of the rate."""
STEPS = 41


def drift_corrected(entries: Sequence[Ranked], shown: float = 0.0) -> list[Ranked]:
    """Correct the rates of configurations to the machine's speed in the last round.

    Args:
        shown: noise of the machine from other runs, as in `noise_of`.
    """
    levels = _levels(entries, shown)
    if not any(levels.values()):
        return list(entries)
    now = levels[max(levels)]
    return [replace(entry, gflops=_rates(entry, levels, now)) for entry in entries]


def change(entries: Sequence[Ranked], shown: float = 0.0) -> float:
    """Return the relative change of the machine's speed from the search to the last round; below 0 for slower."""
    levels = _levels(entries, shown)
    if not levels:
        return 0.0
    last = max(levels)
    search = max((time for time in levels if time.turn == 0), default=last)
    return math.expm1(levels[last] - levels[search])


def did_words(changed: float) -> str:
    """Say what a machine did whose speed changed by this part, after "the machine"; a large change in how many times.

    Args:
        changed: above -1; below 0 for slower.
    """
    if changed >= 1:
        return f"became {1 + changed:.3g} times as fast"
    return f"{'sped up' if changed > 0 else 'slowed'} by {100 * abs(changed):.0f} %"


def _rates(entry: Ranked, levels: dict[Time, float], now: float) -> tuple[float, ...]:
    return tuple(rate * math.exp(now - levels[time]) for rate, time in zip(entry.gflops, entry.times, strict=True))


def _levels(entries: Sequence[Ranked], shown: float) -> dict[Time, float]:
    """Return the logarithm of the machine's speed at each time relative to the first, from entries with known times.

    Disturbed runs tell what others did, not how fast the machine is.
    """
    levels: dict[Time, float] = {}
    level = 0.0
    for now in sorted({time for entry in entries for time in entry.times}):
        before_and_now = []
        for entry in entries:
            told = entry.times and entry.disturbance is None
            runs = list(zip(entry.times, np.log(entry.gflops), strict=True)) if told else []
            before = np.array([rate - levels[time] for time, rate in runs if time in levels])
            in_it = np.array([rate for time, rate in runs if time == now])
            if len(before) and len(in_it):
                before_and_now.append((before, in_it))
        if before_and_now:
            level += _changed(before_and_now, level, shown)
        levels[now] = level
    return levels


def _changed(before_and_now: Sequence[tuple[Array, Array]], level: float, shown: float) -> float:
    """Return the logarithm of the machine's change: 0 unless a change is more likely than none."""
    apart = np.array([now.mean() - before.mean() - level for before, now in before_and_now])
    middle, reach = float(np.median(apart)), float(np.abs(apart - np.median(apart)).max()) + 0.01
    changes = np.linspace(middle - reach, middle + reach, STEPS)
    chance = CHANGED * np.exp(-np.abs(changes) / CHANGE) / (2 * CHANGE) * (changes[1] - changes[0])

    def likely(change: float) -> float:
        runs = [np.concatenate([before, now - level - change]) for before, now in before_and_now]
        return float(np.logaddexp.reduce(usual_evidence(shown) + sum(evidence_of(one) for one in runs)))

    weights = chance * np.exp(np.array([likely(change) for change in changes]) - likely(0.0))
    whole = float(weights.sum())
    return float(weights @ changes) / whole if whole > 1 - CHANGED else 0.0
