"""By how much runs of one configuration differ: what is usual of it, and what repeats tell.

Runs scatter around the rate of their configuration by a normal noise that is alike for all, in logarithms. Some are
slower by anything, because machines hiccup (T. Hoefler and R. Belli, "Scientific Benchmarking of Parallel Computing
Systems", SC 2015, section 3); that one is as much faster is rarer. So a slow run among fast ones is a hiccup, where
most are slow the fast one was luck, and where runs differ by much everywhere that is the noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

USUAL_NOISE = 0.01
"""By how much repeated runs usually differ, as a relative standard deviation; a third or three times that often do."""
TAIL = 3.0
"""Degrees of freedom of that, in logarithms: on a machine that others use runs may differ by half as well."""
HICCUP = 0.05
"""Part of the runs that something else on the machine slows, and of those that are faster than they should be."""
LUCK = 0.01
LOSS = 0.5
"""Mean of what such a run loses or gains, in the logarithm of the rate."""
NOISES = np.geomspace(3e-4, 1.0, 29)
LEAST_WEIGHT = 1e-2
REACH = np.linspace(-3.0, 3.0, 31)


@dataclass(frozen=True)
class Noise:
    """What is believed of the noise.

    Attributes:
        sizes: standard deviations in the logarithm of the rate, rising.
        weights: the probability of each; their sum is 1.
    """

    sizes: Array
    weights: Array

    @property
    def usual(self) -> float:
        """The geometric mean of the standard deviations, as they are believed."""
        return float(np.exp(self.weights @ np.log(self.sizes)))

    def one_more(self, gflops: float, runs: int, certainty: float) -> float:
        """The rate that one more run of a configuration reaches with a stated probability, in the unit of its rate.

        Args:
            gflops: median of its runs, of which there are so many.
            certainty: above 0.5, below 1.
        """
        from scipy.special import ndtr  # noqa: PLC0415 - slow to import, and most commands do not need it

        sd = self.sizes * math.sqrt(1 + 1 / runs)
        lost = np.linspace(0.0, 8 * sd.max(), 20_000)
        return gflops * math.exp(-float(np.interp(certainty, self.weights @ ndtr(lost / sd[:, None]), lost)))


def noise_of(logs: Sequence[Array], shown: float = 0.0) -> Noise:
    """What runs say of the noise; rates are left open, so that only repeats count.

    Args:
        logs: of each configuration the logarithms of its rates.
        shown: what else has shown it on this machine, as a standard deviation; 0 for nothing. Where that is more than
            usual it takes the place of what is usual, and without repeats no smaller noise is believed.
    """
    repeats = [runs for runs in logs if len(runs) > 1]
    evidence = usual_evidence(shown) + sum(evidence_of(runs) for runs in repeats)
    if not repeats and shown > USUAL_NOISE:
        evidence = np.where(min(shown, NOISES[-1]) > NOISES, -np.inf, evidence)
    weights = np.exp(evidence - evidence.max())
    likely = weights > LEAST_WEIGHT
    return Noise(NOISES[likely], weights[likely] / weights[likely].sum())


def usual_evidence(shown: float = 0.0) -> Array:
    """How likely each of NOISES is before anything ran twice, as a logarithm; `shown` as in `noise_of`."""
    usual = max(USUAL_NOISE, shown)
    return np.asarray(-0.5 * (TAIL + 1) * np.log1p(np.log(NOISES / usual) ** 2 / TAIL))


def evidence_of(runs: Array) -> Array:
    """How likely the runs of a configuration are with each of NOISES, whatever its rate, as a logarithm."""
    rates = np.sort((runs[:, None] + NOISES[:, None, None] * REACH).reshape(len(NOISES), -1))
    likely = density(runs[:, None] - rates[:, None, :], NOISES[:, None, None]).prod(axis=1)
    return np.asarray(np.log(((likely[:, 1:] + likely[:, :-1]) / 2 * np.diff(rates)).sum(axis=1)))


def density(off: Array, noise: Array | float) -> Array:
    """Of runs that are so far from the rate of their configuration."""
    steady: Array = np.exp(-0.5 * (off / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
    return (1 - HICCUP - LUCK) * steady + np.where(off < 0, HICCUP, LUCK) * np.exp(-np.abs(off) / LOSS) / LOSS
