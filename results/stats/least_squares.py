"""Least squares with coefficients that cannot be negative, such as times and sizes."""

import numpy as np
from numpy.typing import NDArray


def non_negative(terms: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Fit values by a sum of terms with coefficients of at least 0 (Lawson and Hanson 1974).

    Args:
        terms: shape (values, coefficients).
        values: shape (values,).
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a third of a second that most commands do not need

    return [float(found) for found in nnls(terms, values)[0]]
