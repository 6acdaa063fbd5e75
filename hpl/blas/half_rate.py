"""The slowdown of dgemm with narrow blocks, which is the least that a small NB costs."""

import math
from collections.abc import Mapping
from statistics import linear_regression

NARROWEST = 1.0
"""A half-rate width below this cannot be distinguished from no slowdown at all."""


def half_rate_block(rates: Mapping[int, float]) -> float | None:
    """Estimate the block width at which dgemm reaches half of the rate of very wide blocks.

    The model of an operation's time is a + b / width, because every element of the result is loaded and stored once,
    however many operations use it. R. Hockney and C. Jesshope ("Parallel Computers", 1981) call b / a the
    half-performance length.

    Args:
        rates: GFLOPS for each block width, all above zero.

    Returns:
        The width in columns, from NARROWEST to the widest timed block; None with fewer than two widths.
    """
    if len(rates) < 2:
        return None
    time = linear_regression([1 / width for width in rates], [1 / rate for rate in rates.values()])
    half = time.slope / time.intercept if time.intercept > 0 else math.inf
    return min(max(NARROWEST, half), float(max(rates)))
