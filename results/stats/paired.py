"""Tells which of several rivals is faster, from rounds in which each of them ran once.

Only differences within a round count, so that a machine that becomes slower or faster changes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .noise import HICCUP, LOSS, LUCK, NOISES, Array, usual_evidence

INTERVAL = 0.95
"""Probability that the true difference is in its interval."""
NEAR = np.linspace(-5.0, 5.0, 81)
"""Distances from a difference, in its standard deviations, at which its density is computed."""
FAR = np.geomspace(0.05, 1.0, 25) * 10 * LOSS
"""Distances further away, in logarithms: one run of a round may be a disturbed one."""
DISTURBED = 2 * (HICCUP + LUCK)
"""Part of the differences of which one of both runs is disturbed or too fast."""


@dataclass(frozen=True)
class Lead:
    """By how much one rival is faster than another.

    Attributes:
        chance: probability that it is faster at all, 0 to 1.
        percent: median of the difference, in percent of the other's rate.
        interval_percent: the difference is between these with a probability of INTERVAL.
    """

    chance: float
    percent: float
    interval_percent: tuple[float, float]


def order_of(rates: Sequence[Sequence[float]]) -> list[int]:
    """Sort rivals by their mean logarithm of the rate, fastest first.

    Args:
        rates: for each rival its rates in GFLOPS, above 0, one a round; at least one round, the same for all.
    """
    return sorted(range(len(rates)), key=lambda rival: -float(np.log(rates[rival]).mean()))


def leads(rates: Sequence[Sequence[float]], pairs: Sequence[tuple[int, int]], shown: float = 0.0) -> list[Lead]:
    """Compare pairs of rivals.

    The formula. The difference of the logarithms of two rates of one round scatters around the true difference d: it is
    normal with the variance 2 s^2, s being the noise of a run, with long tails on both sides, because either run may be
    disturbed. Nothing is known of d before (a flat prior). The noise s is the same for all rivals;
    its posterior follows from the differences of neighbours in the order, with the usual noise as prior (`noise.py`).
    So P(d > 0) = sum over s of P(s | all) * P(d > 0 | s, differences of the pair).

    Args:
        rates: as in `order_of`.
        pairs: the first and the second rival of each comparison.
        shown: noise of the machine from other runs, as in `noise.noise_of`.
    """
    logs = np.log(np.asarray(rates))
    neighbours = list(pairwise(order_of(rates)))
    found = {(one, other): _Difference.of(logs[one] - logs[other]) for one, other in {*neighbours, *pairs}}
    evidence = usual_evidence(shown) + sum(found[pair].evidence for pair in neighbours)
    weights = np.exp(evidence - evidence.max())
    return [found[pair].lead(weights / weights.sum()) for pair in pairs]


@dataclass(frozen=True)
class _Difference:
    """What is believed of a true difference, for each size of the noise in NOISES.

    Attributes:
        places: possible values, rising, a row for each noise.
        below: the probability of each value or a smaller one.
        evidence: logarithm of the likelihood of the noise.
    """

    places: Array
    below: Array
    evidence: Array

    @staticmethod
    def of(found: Array) -> "_Difference":
        spread = math.sqrt(2) * NOISES[:, None]
        around = np.concatenate(
            (np.broadcast_to(-FAR, (len(NOISES), len(FAR))), spread * NEAR, FAR + 0 * spread), axis=1
        )
        places = np.sort((found[:, None, None] + around).transpose(1, 0, 2).reshape(len(NOISES), -1))
        logs = sum(np.log(_density(one - places, spread)) for one in found)
        most = np.max(logs, axis=1)
        likely = np.exp(logs - most[:, None])
        parts = (likely[:, 1:] + likely[:, :-1]) / 2 * np.diff(places)
        below = np.concatenate((np.zeros((len(NOISES), 1)), parts.cumsum(axis=1)), axis=1)
        whole = below[:, -1:]
        return _Difference(places, below / whole, np.asarray(most + np.log(whole[:, 0])))

    def lead(self, weights: Array) -> Lead:
        """Return what is told of it, given the probability of each noise."""
        low, middle, high = (self._quantile(part, weights) for part in ((1 - INTERVAL) / 2, 0.5, (1 + INTERVAL) / 2))
        return Lead(1.0 - self._below(0.0, weights), *(_percent(middle), (_percent(low), _percent(high))))

    def _below(self, value: float, weights: Array) -> float:
        each = [np.interp(value, places, below) for places, below in zip(self.places, self.below, strict=True)]
        return float(np.clip(weights @ np.asarray(each), 0.0, 1.0))

    def _quantile(self, part: float, weights: Array) -> float:
        low, high = float(self.places.min()), float(self.places.max())
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self._below(middle, weights) < part else (low, middle)
        return (low + high) / 2


def _density(off: Array, spread: Array) -> Array:
    """Return the density of differences at these distances from the true one."""
    steady = np.exp(-0.5 * (off / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
    return np.asarray((1 - DISTURBED) * steady + DISTURBED * np.exp(-np.abs(off) / LOSS) / (2 * LOSS))


def _percent(log: float) -> float:
    return 100 * math.expm1(log)
