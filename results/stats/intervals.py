"""Figures that intervals are made of: half of a 95 % interval, usual degrees of freedom, least squares."""

import numpy as np
from numpy.typing import NDArray

Z95 = 1.96
"""Standard deviations on each side of a normal value within which it is with that probability."""


def half_95(sd: float) -> float:
    """Half of the interval of a value with this standard deviation."""
    return Z95 * sd


USUAL_COUNT = 2
"""Degrees of freedom of the usual standard deviation, besides those of the values."""


def non_negative(terms: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Fit values by a sum of terms with coefficients of at least 0 (Lawson and Hanson 1974).

    Args:
        terms: shape (values, coefficients).
        values: shape (values,).
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a third of a second that most commands do not need

    return [float(found) for found in nnls(terms, values)[0]]
