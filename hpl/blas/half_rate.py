"""How much slower dgemm is with narrow blocks: what NB costs before anything else of HPL is known."""

import math
from collections.abc import Mapping
from statistics import linear_regression

NARROWEST = 1.0
"""Half rates at narrower blocks than this cannot be told from none."""


def half_rate_block(rates: Mapping[int, float]) -> float | None:
    """Width of the blocks at which dgemm has half of the rate that it has with very wide ones.

    The time of an operation is taken as a + b / width: every element of the result is fetched and stored once, however
    many operations are done with it (R. Hockney and C. Jesshope, "Parallel Computers", 1981, call b / a the
    half-performance length).

    Args:
        rates: in GFLOPS by the width of the block, all above zero.

    Returns:
        Columns, from NARROWEST to the widest that was timed; None where there are no two widths to compare.
    """
    if len(rates) < 2:
        return None
    time = linear_regression([1 / width for width in rates], [1 / rate for rate in rates.values()])
    half = time.slope / time.intercept if time.intercept > 0 else math.inf
    return min(max(NARROWEST, half), float(max(rates)))
