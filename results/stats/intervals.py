"""Figures that intervals are made of: half of a 95 % interval, the margin of a prediction, least squares."""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

Z95 = 1.96
"""Standard deviations on each side of a normal value within which it is with that probability."""


def half_95(sd: float) -> float:
    """Half of the interval of a value with this standard deviation."""
    return Z95 * sd


USUAL_COUNT = 2
"""Degrees of freedom of the usual standard deviation, besides those of the values."""


def prediction_margin(values: Sequence[float], usual_sd: float, certainty: float) -> float:
    """Return how far the next value is above the mean at most, or below it at most, in the values' unit.

    It is Student's t for one more value, with the pooled standard deviation of the values and the usual one.

    Args:
        values: the values so far, at least one.
        usual_sd: the prior standard deviation.
        certainty: probability that the next value is within the margin on one side, below 1.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    mean, freedom = fmean(values), len(values) - 1 + USUAL_COUNT
    squares = sum((value - mean) ** 2 for value in values) + USUAL_COUNT * usual_sd**2
    return float(stdtrit(freedom, certainty)) * math.sqrt(squares / freedom * (1 + 1 / len(values)))


def non_negative(terms: NDArray[np.float64], values: NDArray[np.float64]) -> list[float]:
    """Fit values by a sum of terms with coefficients of at least 0 (Lawson and Hanson 1974).

    Args:
        terms: shape (values, coefficients).
        values: shape (values,).
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - a third of a second that most commands do not need

    return [float(found) for found in nnls(terms, values)[0]]
