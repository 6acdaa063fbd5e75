"""Least squares whose coefficients are times, sizes and the like."""

import numpy as np
from numpy.typing import NDArray


def non_negative(terms: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Coefficients of at least 0 that come nearest to values as a sum of terms (Lawson and Hanson 1974).

    Args:
        terms: shape (values, coefficients).
        values: shape (values,).
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a third of a second that most commands do not need

    return [float(found) for found in nnls(terms, values)[0]]
