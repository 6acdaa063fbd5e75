"""How far one more value of a kind may be from those before, with a stated probability."""

import math
from collections.abc import Sequence
from statistics import fmean

from scipy.stats import t

USUAL_COUNT = 2
"""Values that what is usual counts for, beside those that were seen."""


def reach(values: Sequence[float], usual_sd: float, certainty: float) -> float:
    """By how much the next value is above the mean of these at most, or below it, in their unit.

    Student's t for one more of the kind, with the standard deviation of the values and the usual one pooled.

    Args:
        values: at least one.
        usual_sd: standard deviation that is taken before it is seen.
        certainty: probability of not being further away on that side, below 1.
    """
    mean, freedom = fmean(values), len(values) - 1 + USUAL_COUNT
    squares = sum((value - mean) ** 2 for value in values) + USUAL_COUNT * usual_sd**2
    return float(t.ppf(certainty, freedom)) * math.sqrt(squares / freedom * (1 + 1 / len(values)))
