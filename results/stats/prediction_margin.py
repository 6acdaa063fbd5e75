"""How far one more value of a kind may be from those before, with a stated probability."""

import math
from collections.abc import Sequence
from statistics import fmean

USUAL_COUNT = 2
"""Values that what is usual counts for, beside those that were seen."""


def prediction_margin(values: Sequence[float], usual_sd: float, certainty: float) -> float:
    """By how much the next value is above the mean of these at most, or below it, in their unit.

    Student's t for one more of the kind, with the standard deviation of the values and the usual one pooled.

    Args:
        values: at least one.
        usual_sd: standard deviation that is taken before it is seen.
        certainty: probability of not being further away on that side, below 1.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    mean, freedom = fmean(values), len(values) - 1 + USUAL_COUNT
    squares = sum((value - mean) ** 2 for value in values) + USUAL_COUNT * usual_sd**2
    return float(stdtrit(freedom, certainty)) * math.sqrt(squares / freedom * (1 + 1 / len(values)))
