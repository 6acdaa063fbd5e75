"""How fast the machine was at each time of a study, so that runs of different times can be held against each other.

A study has its search and then rounds in which each finalist runs once. Configurations that ran in a round and before
tell by how much the machine changed in between. That it did not change is believed unless they say otherwise: the
finalists were chosen for fast runs, so they become slower a little by themselves.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .noise import Array, evidence_of, usual_evidence
from .ranking import Ranked, Time

CHANGED = 0.1
"""Probability that a machine is faster or slower in the next round, before its runs are seen."""
CHANGE = 0.3
"""Mean of that in the logarithm of the rate, up or down."""
STEPS = 41


def drift_corrected(entries: Sequence[Ranked], shown: float = 0.0) -> list[Ranked]:
    """Configurations with the rates that their runs would have had when the last round was run.

    Args:
        shown: noise that the machine has shown otherwise, as in `noise_of`.
    """
    levels = _levels(entries, shown)
    if not any(levels.values()):
        return list(entries)
    now = levels[max(levels)]
    return [replace(entry, gflops=_rates(entry, levels, now)) for entry in entries]


def change(entries: Sequence[Ranked], shown: float = 0.0) -> float:
    """By which part the machine was faster in the last round than in the search before it; below 0 where slower."""
    levels = _levels(entries, shown)
    if not levels:
        return 0.0
    last = max(levels)
    search = max((time for time in levels if time.turn == 0), default=last)
    return math.expm1(levels[last] - levels[search])


def _rates(entry: Ranked, levels: dict[Time, float], now: float) -> tuple[float, ...]:
    return tuple(rate * math.exp(now - levels[time]) for rate, time in zip(entry.gflops, entry.times, strict=True))


def _levels(entries: Sequence[Ranked], shown: float) -> dict[Time, float]:
    """The logarithm of the machine's speed at each time against the first; of entries whose times are known."""
    levels: dict[Time, float] = {}
    level = 0.0
    for now in sorted({time for entry in entries for time in entry.times}):
        before_and_now = []
        for entry in entries:
            runs = list(zip(entry.times, np.log(entry.gflops), strict=True)) if entry.times else []
            before = np.array([rate - levels[time] for time, rate in runs if time in levels])
            in_it = np.array([rate for time, rate in runs if time == now])
            if len(before) and len(in_it):
                before_and_now.append((before, in_it))
        if before_and_now:
            level += _changed(before_and_now, level, shown)
        levels[now] = level
    return levels


def _changed(before_and_now: Sequence[tuple[Array, Array]], level: float, shown: float) -> float:
    """By how much the machine changed, as a logarithm: 0 unless that it did is more likely than that it did not."""
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
