"""The noise of runs of one configuration: a prior, and the evidence of repeated runs.

The logarithms of rates scatter around that of their configuration with a normal noise that is the same for all
configurations. A disturbed run can be slower by any amount (T. Hoefler and R. Belli, "Scientific Benchmarking of
Parallel Computing Systems", SC 2015, section 3); much faster runs are rarer. So a slow run among fast ones is a
disturbance, a fast run among slow ones is luck, and large differences in all configurations are noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .intervals import Z95

Array = NDArray[np.float64]

USUAL_NOISE = 0.01
"""Usual relative standard deviation of repeated runs; a third of it or three times it is common too."""
TAIL = 3.0
"""Degrees of freedom of the prior, in logarithms: on a shared machine runs may differ even by half."""
HICCUP = 0.05
"""Part of the runs that are disturbed and slower, and part of the runs that are too fast."""
LUCK = 0.01
LOSS = 0.5
"""Mean loss or gain of such a run, in the logarithm of the rate."""
NOISES = np.geomspace(3e-4, 1.0, 29)
LEAST_WEIGHT = 1e-2
REACH = np.linspace(-3.0, 3.0, 31)
MOST_PLACES = 30
"""Runs around which the likelihood is computed, spread over all runs."""
TOGETHER = 4
"""Runs whose densities are multiplied before the logarithm is taken; of more the product might not be a number."""
MOST_KEPT = 4096
"""Evidences that are kept, of 29 numbers each."""
_SCALE = 1 / (NOISES[:, None] * math.sqrt(2.0))


@dataclass(frozen=True)
class Noise:
    """The posterior of the noise.

    Attributes:
        sizes: standard deviations in the logarithm of the rate, rising.
        weights: the probability of each; their sum is 1.
    """

    sizes: Array
    weights: Array

    @property
    def usual(self) -> float:
        """The geometric mean of the standard deviations, weighted by their probabilities."""
        return float(np.exp(self.weights @ np.log(self.sizes)))

    @property
    def sd(self) -> float:
        """The standard deviation that counts on what is not known of the noise: 95 % of runs are within 1.96 of it."""
        return -math.log(self.one_more(1.0, math.inf, 0.975)) / Z95

    def one_more(self, gflops: float, runs: float, certainty: float) -> float:
        """Return the rate that one more run of a configuration reaches with a stated probability.

        Args:
            gflops: median of its runs, whose number is `runs`.
            certainty: above 0.5, below 1.
        """
        from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and most commands do not need them
        from scipy.special import ndtr  # noqa: PLC0415

        sd = self.sizes * math.sqrt(1 + 1 / runs)
        lost = brentq(lambda loss: self.weights @ ndtr(loss / sd) - certainty, 0.0, 40 * sd.max())
        return gflops * math.exp(-float(lost))


def noise_of(logs: Sequence[Array], shown: float = 0.0) -> Noise:
    """Compute the posterior of the noise; the rates are unknown, so only repeated runs count.

    Args:
        logs: for each configuration the logarithms of its rates.
        shown: noise of this machine from other runs, as a standard deviation; 0 if there are none. If it is larger than
            usual, it replaces the usual noise, and without repeated runs no smaller noise is possible.
    """
    repeats = [runs for runs in logs if len(runs) > 1]
    evidence = usual_evidence(shown) + sum(evidence_of(runs) for runs in repeats)
    if not repeats and shown > USUAL_NOISE:
        evidence = np.where(min(shown, NOISES[-1]) > NOISES, -np.inf, evidence)
    weights = np.exp(evidence - evidence.max())
    likely = weights > LEAST_WEIGHT
    return Noise(NOISES[likely], weights[likely] / weights[likely].sum())


def usual_evidence(shown: float = 0.0) -> Array:
    """Return the log prior of each of NOISES; `shown` is as in `noise_of`."""
    usual = max(USUAL_NOISE, shown)
    return np.asarray(-0.5 * (TAIL + 1) * np.log1p(np.log(NOISES / usual) ** 2 / TAIL))


def evidence_of(runs: Array) -> Array:
    """Return the log-likelihood of a configuration's runs for each of NOISES, whatever its rate; not to be written to.

    The same runs are asked for again and again: by the ranking, by its confidence and by the change of the machine.
    """
    return _evidence(np.asarray(runs, dtype=np.float64).tobytes())


@lru_cache(maxsize=MOST_KEPT)
def _evidence(runs_as_bytes: bytes) -> Array:
    runs = np.frombuffer(runs_as_bytes)
    middle = float(np.median(runs))
    runs = runs - middle
    places = np.rint(np.linspace(0, len(runs) - 1, min(len(runs), MOST_PLACES))).astype(int)
    near = np.sort(runs)[places]
    rates = np.sort((near[:, None] + NOISES[:, None, None] * REACH).reshape(len(NOISES), -1))
    logs = _log_likelihood(runs, rates)
    most = np.max(logs, axis=1)
    likely = np.exp(logs - most[:, None])
    parts = (likely[:, 1:] + likely[:, :-1]) * (rates[:, 1:] - rates[:, :-1])
    evidence = np.asarray(most + np.log(parts.sum(axis=1) / 2))
    evidence.flags.writeable = False
    return evidence


def _log_likelihood(runs: Array, rates: Array) -> Array:
    """Return the sum of the logarithms of `density` of all runs at rates, a row for each of NOISES.

    The exponential function is slow: that of a tail is computed once for all runs, and few runs share a logarithm.
    """
    scaled, factor = rates * _SCALE, (1 - HICCUP - LUCK) / (NOISES[:, None] * math.sqrt(2 * math.pi))
    above = np.exp(rates / LOSS)
    below = 1 / above
    logs = np.zeros_like(rates)
    for first in range(0, len(runs), TOGETHER):
        product = np.ones_like(rates)
        for run in runs[first : first + TOGETHER]:
            far = math.exp(run / LOSS) / LOSS
            tail = np.where(run < rates, (HICCUP * far) * below, (LUCK / far / LOSS**2) * above)
            product *= factor * np.exp(-((run * _SCALE - scaled) ** 2)) + tail
        logs += np.log(product)
    return logs


def density(off: Array, noise: Array | float) -> Array:
    """Return the density of runs at these distances from the rate of their configuration."""
    steady: Array = np.exp(-0.5 * (off / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
    return (1 - HICCUP - LUCK) * steady + np.where(off < 0, HICCUP, LUCK) * np.exp(-np.abs(off) / LOSS) / LOSS
