"""One-sided prediction margin for the next value (Student's t)."""

import math
from collections.abc import Sequence
from statistics import fmean

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
