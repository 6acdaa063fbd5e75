"""What the runs of all configurations together say of the rate of each, however lucky or unlucky single runs were.

The rate of a configuration is the one that as many of its undisturbed runs surpass as fall short of it. Runs scatter
around it by a normal noise that is alike for all, in logarithms; some are slower by anything, because machines hiccup,
and none is faster by anything (T. Hoefler and R. Belli, "Scientific Benchmarking of Parallel Computing Systems", SC
2015, section 3). What rates are usual is learnt from all configurations: the prior is the mixture of what is believed
of them, made in a few steps from nothing (N. Laird, "Nonparametric Maximum Likelihood Estimation of a Mixing
Distribution", JASA 73 (1978); few steps leave it smooth). So the lucky run by which one was chosen is held against
those that were not chosen, and nothing has to be left out (B. Efron, "Tweedie's Formula and Selection Bias", JASA 106
(2011)). What a configuration says of itself counts half in its own prior, so that few are not believed to differ
because there is nothing else to compare them with.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

USUAL_NOISE = 0.01
"""By how much repeated runs usually differ, as a relative standard deviation; a third or three times that often do."""
HICCUP = 0.05
"""Part of the runs that something else on the machine slows."""
HICCUP_DENSITY = HICCUP / 0.5
"""Such a run loses anything up to a third of its rate, as likely as not so much: half a unit of the logarithm."""
OWN = 0.5
STEPS = 10
NOISES = np.geomspace(3e-4, 0.3, 25)
LEAST_WEIGHT = 1e-2
PLACES = 1200
"""Rates that are looked at, four for each standard deviation of the noise; what is slower than them is no contender."""
REACH = np.linspace(-3.0, 3.0, 31)


@dataclass(frozen=True)
class Belief:
    """What is believed of the rates of some configurations.

    Attributes:
        contenders: places of those that are near enough to the fastest to need a belief.
        rates: logarithms of rates, evenly rising.
        shares: for each contender the probability of each of `rates`.
    """

    contenders: tuple[int, ...]
    rates: Array
    shares: Array

    def medians(self) -> dict[int, float]:
        """The rate of each contender that it surpasses as likely as not, by its place."""
        ends = self.rates + (self.rates[1] - self.rates[0]) / 2
        middles = [math.exp(np.interp(0.5, shares.cumsum(), ends)) for shares in self.shares]
        return dict(zip(self.contenders, middles, strict=True))

    def ahead(self, place: int) -> dict[int, float]:
        """The probability that one contender is faster than each other, by their places."""
        shares = self.shares[self.contenders.index(place)]
        return dict(zip(self.contenders, (self._slower @ shares).tolist(), strict=True))

    def fastest(self, place: int) -> float:
        """The probability that one contender is the fastest of all."""
        index = self.contenders.index(place)
        return float(self.shares[index] @ np.delete(self._slower, index, axis=0).prod(axis=0))

    @property
    def _slower(self) -> Array:
        """For each contender the probability of being slower than each of `rates`; one that is as fast counts half."""
        slower: Array = self.shares.cumsum(axis=1) - self.shares / 2
        return slower


def believed(groups: Sequence[Sequence[float]]) -> Belief | None:
    """What the runs of some configurations say; None where none ran twice, so that the noise is not known.

    Args:
        groups: the rates of each configuration, at least one, all above zero.
    """
    logs = [np.log(np.array(rates)) for rates in groups]
    if all(len(runs) < 2 for runs in logs):
        return None
    noises, weights = _noise(logs)
    noise = float(np.exp(weights @ np.log(noises)))
    fastest = np.array([runs.max() for runs in logs])
    top = fastest.max() + 3 * noise
    bottom = max(min(runs.min() for runs in logs) - 3 * noise, top - PLACES * noise / 4)
    places = np.arange(bottom, top, noise / 4)
    contenders = tuple(int(place) for place in np.flatnonzero(fastest >= bottom))
    runs = [logs[place] for place in contenders]
    first = np.cumsum([0, *map(len, runs[:-1])])
    off = np.concatenate(runs)[:, None] - places
    likelihood = np.zeros((len(runs), len(places)))
    for one, weight in zip(noises, weights, strict=True):
        likelihood += weight * np.exp(np.add.reduceat(np.log(_density(off, one)), first, axis=0))
    shares = _normal(likelihood)
    for _ in range(STEPS):
        shares = _normal(likelihood * (shares.sum(axis=0) - OWN * shares))
    return Belief(contenders, places, shares)


def _noise(logs: Sequence[Array]) -> tuple[Array, Array]:
    """How large the noise may be, and the probability of each; rates are left open, so that only repeats count."""
    evidence = -0.5 * np.log(NOISES / USUAL_NOISE) ** 2
    for runs in logs:
        if len(runs) > 1:
            rates = np.sort((runs[:, None] + NOISES[:, None, None] * REACH).reshape(len(NOISES), -1))
            density = _density(runs[:, None] - rates[:, None, :], NOISES[:, None, None]).prod(axis=1)
            evidence += np.log(((density[:, 1:] + density[:, :-1]) / 2 * np.diff(rates)).sum(axis=1))
    weights = np.exp(evidence - evidence.max())
    likely = weights > LEAST_WEIGHT
    return NOISES[likely], weights[likely] / weights[likely].sum()


def _density(off: Array, noise: Array | float) -> Array:
    """Of runs that are so far from the rate of their configuration."""
    steady: Array = np.exp(-0.5 * (off / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
    return (1 - HICCUP) * steady + np.where(off < 0, HICCUP_DENSITY, 1e-12)


def _normal(rows: Array) -> Array:
    whole: Array = rows.sum(axis=1, keepdims=True)
    return rows / whole
