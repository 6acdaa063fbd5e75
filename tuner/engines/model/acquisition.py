"""Works out what one more run is worth."""

import numpy as np
from scipy.special import ndtr

from ..arrays import Matrix, Vector
from .front import to_surpass

SAME = 1e-12
"""Added to standard deviations, so that what a run cannot tell apart is no division by zero."""


HOPELESS = -8.0
"""Standard deviations from 0 beyond which the excess is 0 to machine precision, and need not be worked out."""


def expected_improvement(mean: Vector | Matrix, sd: Vector | Matrix) -> Vector | Matrix:
    """Mean of max(0, f) where f is normal (Mockus 1978), in the unit of the mean; sd above 0."""
    z = np.asarray(mean / sd)
    excess = np.zeros(z.shape)
    likely = z > HOPELESS
    some = z[likely]
    excess[likely] = some * ndtr(some) + np.exp(-0.5 * some**2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * excess)


def knowledge_gradient(mean: Vector, swayed: Matrix, worths: Vector | None = None) -> Vector:
    """The knowledge gradient: how much a run is expected to raise the rate of what looks best after it.

    P. Frazier, W. Powell, S. Dayanik, "The knowledge-gradient policy for correlated normal beliefs", INFORMS Journal
    on Computing 21 (2009); of all configurations that could take the place of the best the one is counted that gains
    most, which is a lower bound.

    Args:
        mean: of f at the configurations that may be best, shape (ahead,).
        swayed: change of these means with a run, by standard deviation of what is not known of the run, shape (ahead,
            runs).
        worths: logarithm of what a GFLOPS of each is worth by another objective, where a front is searched: then by how
            much it raises what gains most of that over all that beat it so far.

    Returns:
        Of each run, in the unit of the mean, shape (runs,).
    """
    worths = np.zeros(len(mean)) if worths is None else worths
    rivals, bars = to_surpass(mean, worths, worths)
    gains = expected_improvement((mean - bars)[:, None], np.abs(swayed - swayed[rivals]) + SAME)
    gains[rivals == np.arange(len(mean))] = 0.0
    return np.asarray(gains.max(axis=0))
