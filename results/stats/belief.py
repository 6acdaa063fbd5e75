"""What the runs of all configurations together say of the rate of each, however lucky or unlucky single runs were.

The rate of a configuration is the one that as many of its undisturbed runs surpass as fall short of it; how runs
scatter around it is in `noise`. What rates are usual is learnt from all configurations: the prior is the mixture of
what is believed of them, made in a few steps from nothing (N. Laird, "Nonparametric Maximum Likelihood Estimation of a
Mixing Distribution", JASA 73 (1978); few steps leave it smooth). So the lucky run by which one was chosen is held
against those that were not chosen, and nothing has to be left out (B. Efron, "Tweedie's Formula and Selection Bias",
JASA 106 (2011)). What a configuration says of itself counts a fifth in its own prior, so that few are not believed to
differ because there is nothing else to compare them with.

The noise is alike for all but not known, so all that is said is said for each size that it may have, and taken together
by how likely each is: where repeats leave open whether runs differ much, they leave it open for all at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .noise import Array, density, noise_of

OWN = 0.8
STEPS = 10
PLACES = 1200
"""Rates that are looked at, four for each standard deviation of the noise; what is slower than them is no contender."""
_LEGENDRE, _GAUSS = np.polynomial.legendre.leggauss(8)
WITHIN, WEIGHTS = (1 + _LEGENDRE) / 2, _GAUSS / 2
"""Where between one rate and the next it is looked at who is faster of those between the same two (Gauss, Legendre)."""


@dataclass(frozen=True)
class RatePosterior:
    """What is believed of the rates of some configurations.

    Attributes:
        contenders: places of those that are near enough to the fastest to need a belief.
        rates: logarithms of rates, evenly rising.
        shares: for each size that the noise may have and each contender the probability of each of `rates`.
        weights: the probability of each size of the noise.
    """

    contenders: tuple[int, ...]
    rates: Array
    shares: Array
    weights: Array

    def medians(self) -> dict[int, float]:
        """The rate of each contender that it surpasses as likely as not, by its place."""
        ends = self.rates + (self.rates[1] - self.rates[0]) / 2
        shares = np.tensordot(self.weights, self.shares, axes=1).cumsum(axis=1)
        middles = [math.exp(np.interp(0.5, below, ends)) for below in shares]
        return dict(zip(self.contenders, middles, strict=True))

    def ahead(self, place: int) -> dict[int, float]:
        """The probability that one contender is faster than each other, by their places."""
        shares = self.shares[:, self.contenders.index(place), :, None]
        slower = self.shares.cumsum(axis=2) - self.shares / 2  # as fast counts half
        return dict(zip(self.contenders, (self.weights @ (slower @ shares)[..., 0]).tolist(), strict=True))

    def fastest(self, place: int) -> float:
        """The probability that one contender is the fastest of all."""
        index = self.contenders.index(place)
        others = np.delete(self.shares, index, axis=1)
        below = others.cumsum(axis=2) - others
        all_slower = sum(
            weight * (below + part * others).prod(axis=1) for part, weight in zip(WITHIN, WEIGHTS, strict=True)
        )
        return float(self.weights @ (self.shares[:, index] * all_slower).sum(axis=1))


def believed(groups: Sequence[Sequence[float]], shown: float = 0.0) -> RatePosterior | None:
    """What the runs of some configurations say; None where none ran twice, so that the noise is not known.

    Args:
        groups: the rates of each configuration, at least one, all above zero.
        shown: noise that the machine has shown otherwise, as in `noise_of`.
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
    shares = np.array([_shares(np.add.reduceat(np.log(density(off, one)), first, axis=0)) for one in known.sizes])
    return RatePosterior(contenders, places, shares, known.weights)


def _shares(likelihood: Array) -> Array:
    """The probability of each rate, by what the runs of each contender say as a logarithm, and what all say of each."""
    likely = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    shares = _normal(likely)
    for _ in range(STEPS):
        shares = _normal(likely * (shares.sum(axis=0) - OWN * shares))
    return shares


def _normal(rows: Array) -> Array:
    whole: Array = rows.sum(axis=1, keepdims=True)
    return rows / whole
