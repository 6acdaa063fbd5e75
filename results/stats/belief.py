"""Posterior distributions of the configurations' rates, from the runs of all configurations together.

The rate of a configuration is the median of its undisturbed runs; `noise` models the scatter around it. The prior of
rates is learnt from all configurations (empirical Bayes): it is the mixture of their posteriors, computed in a few
steps from a flat one (N. Laird, "Nonparametric Maximum Likelihood Estimation of a Mixing Distribution", JASA 73
(1978)); few steps leave it smooth. This prior corrects the bias of choosing a configuration for a lucky run (B. Efron,
"Tweedie's Formula and Selection Bias", JASA 106 (2011)), so no run has to be left out. A configuration's own runs count
a fifth in its prior, so that few configurations do not count as different just because there are no others to compare.

The noise is the same for all configurations, but not known. So the posterior is computed for each possible size of the
noise, and averaged with the probabilities of the sizes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .noise import Array, density, noise_of

OWN = 0.8
STEPS = 4
INTERVAL = 0.95
"""Probability that a rate lies in its interval."""
LARGE_NOISE = 0.9
"""Probability with which the noise is at most as large as one that a careful chance reckons with."""
PLACES = 1200
"""Points of the grid of rates, four for each standard deviation of the noise; slower configurations do not contend."""
_LEGENDRE, _GAUSS = np.polynomial.legendre.leggauss(8)
WITHIN, WEIGHTS = (1 + _LEGENDRE) / 2, _GAUSS / 2
"""Gauss-Legendre points between two rates of the grid, to decide which of two configurations there is faster."""


@dataclass(frozen=True)
class RatePosterior:
    """The posterior of the rates of some configurations.

    Attributes:
        contenders: indices of the configurations that are near enough to the fastest.
        rates: logarithms of rates, in equal steps.
        shares: the probability of each of `rates`, for each size of the noise and each contender.
        weights: the probability of each size of the noise.
        by_own_runs: as `shares`, by the runs of each contender alone, with no rate more likely before.
    """

    contenders: tuple[int, ...]
    rates: Array
    shares: Array
    weights: Array
    by_own_runs: Array

    def medians(self) -> dict[int, float]:
        """Return the median of each contender's rate, by its index."""
        return {place: middle for place, (middle,) in self._quantiles(self.shares, 0.5).items()}

    def intervals(self) -> dict[int, tuple[float, float]]:
        """Return the ends between which each contender's rate is with a probability of INTERVAL, by its index.

        They come from its own runs alone, because the learnt prior is too sure of the rates it has seen: with it, only
        half of the true rates were inside (benchmarks/intervals.py). They are extended by as much as the prior moves
        the median, so that the luck for which a configuration was chosen is inside too.
        """
        own = self._quantiles(self.by_own_runs, (1 - INTERVAL) / 2, 0.5, (1 + INTERVAL) / 2)
        moved = {place: median / own[place][1] for place, median in self.medians().items()}
        return {place: (own[place][0] * min(1.0, by), own[place][2] * max(1.0, by)) for place, by in moved.items()}

    def _quantiles(self, shares_of: Array, *parts: float) -> dict[int, tuple[float, ...]]:
        ends = self.rates + (self.rates[1] - self.rates[0]) / 2
        shares = np.tensordot(self.weights, shares_of, axes=1).cumsum(axis=1)
        found = [tuple(math.exp(np.interp(part, below, ends)) for part in parts) for below in shares]
        return dict(zip(self.contenders, found, strict=True))

    def ahead(self, contender: int) -> dict[int, float]:
        """Return the probability that a contender is faster than each other one, by their indices."""
        shares = self.shares[:, self.contenders.index(contender), :, None]
        slower = self.shares.cumsum(axis=2) - self.shares / 2  # an equal rate counts half
        return dict(zip(self.contenders, self._careful((slower @ shares)[..., 0]).tolist(), strict=True))

    def fastest(self, contender: int) -> float:
        """Return the probability that a contender is the fastest of all."""
        index = self.contenders.index(contender)
        others = np.delete(self.shares, index, axis=1)
        below = others.cumsum(axis=2) - others
        all_slower = sum(
            weight * (below + part * others).prod(axis=1) for part, weight in zip(WITHIN, WEIGHTS, strict=True)
        )
        return float(self._careful((self.shares[:, index] * all_slower).sum(axis=1)))

    def _careful(self, chances: Array) -> Array:
        """Average the chances for each size of the noise, or take those for a large one, where they are smaller.

        Where the few repeats are alike by luck the noise is believed to be too small; that is when most would be
        claimed, so that the average claims too much of all studies that claim something.
        """
        large = int(np.searchsorted(self.weights.cumsum(), LARGE_NOISE))
        return np.array(np.minimum(self.weights @ chances, chances[min(large, len(chances) - 1)]), np.float64)


def posterior_rates(groups: Sequence[Sequence[float]], shown: float = 0.0) -> RatePosterior | None:
    """Compute the posterior of some configurations' rates; None if none ran twice, as the noise is then not known.

    Args:
        groups: the rates of each configuration's runs, at least one, all above zero.
        shown: noise of the machine from other runs, as in `noise_of`.
    """
    logs = [np.log(np.array(rates)) for rates in groups]
    if all(len(runs) < 2 for runs in logs):
        return None
    known = noise_of(logs, shown)
    noise = known.usual
    fastest = np.array([runs.max() for runs in logs])
    top = fastest.max() + 3 * noise
    bottom = max(min(runs.min() for runs in logs) - 3 * noise, top - PLACES * noise / 4)
    places = np.arange(bottom, top, noise / 4)
    contenders = tuple(int(place) for place in np.flatnonzero(fastest >= bottom))
    runs = [logs[place] for place in contenders]
    first = np.cumsum([0, *map(len, runs[:-1])])
    off = np.concatenate(runs)[:, None] - places
    likelihoods = [np.add.reduceat(np.log(density(off, one)), first, axis=0) for one in known.sizes]
    likely = [np.asarray(np.exp(one - one.max(axis=1, keepdims=True))) for one in likelihoods]
    own, shares = np.array([_normal(one) for one in likely]), np.array([_shares(one) for one in likely])
    return RatePosterior(contenders, places, shares, known.weights, own)


def _shares(likely: Array) -> Array:
    """Return the probability of each rate, from the likelihood of each contender's runs and a prior from all."""
    shares = _normal(likely)
    for _ in range(STEPS):
        shares = _normal(likely * (shares.sum(axis=0) - OWN * shares))
    return shares


def _normal(rows: Array) -> Array:
    whole: Array = rows.sum(axis=1, keepdims=True)
    return rows / whole
