"""What one more run would tell of the best rate there is."""

import numpy as np
from scipy.special import log_ndtr, ndtr

from .axes import Matrix
from .scales import Vector

FARTHEST = 8.0
"""Standard deviations beyond which a normal distribution is as good as certain."""


def gain(mean: Vector, sd: Vector, shared: Vector, best: Vector) -> Vector:
    """Information, in nats, that a run gives about the best rate: the GIBBON bound with one point.

    H. Moss, D. Leslie, J. Gonzalez, P. Rayson, "GIBBON: General-purpose information-based Bayesian optimisation",
    JMLR 22 (2021), equation 8: -1/2 log(1 - rho^2 g (gamma + g)), averaged over draws of the best.

    Args:
        mean, sd: of f, shape (points,).
        shared: correlation of the run with f, shape (points,).
        best: draws of the largest f, shape (draws,).
    """
    gamma = np.clip((best[:, None] - mean) / sd, -FARTHEST, FARTHEST)
    hazard = np.exp(-0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma))
    inner = np.clip(1 - shared**2 * hazard * (gamma + hazard), 1e-12, 1.0)
    return np.asarray(-0.5 * np.log(inner).mean(axis=0))


def expected_improvement(mean: Vector, sd: Vector, over: float) -> Vector:
    """Expected excess of f above a value, in the unit of the mean (Mockus 1978)."""
    z = (mean - over) / sd
    return np.asarray(sd * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)))


def best_of(draws: Matrix) -> Vector:
    """The largest f of each draw, shape (draws,)."""
    return np.asarray(draws.max(axis=1))
