"""Compares configurations by one objective, or by two, of which the best form a front.

The other objective is the rate times what a GFLOPS of a configuration is worth by it. So what is worth as much or more
has to be surpassed in GFLOPS, what is worth less only by the other objective, which takes less. Without another
objective all are worth the same. Everything here is a logarithm.
"""

import numpy as np
from numpy.typing import NDArray

from ..arrays import Vector


def to_surpass(rates: Vector, theirs: Vector, worths: Vector) -> tuple[NDArray[np.intp], Vector]:
    """The rate above which none of some rivals beats a configuration in both objectives.

    Args:
        rates: of the rivals, and `theirs` what a GFLOPS of each is worth.
        worths: what a GFLOPS of each of the configurations is worth.

    Returns:
        For each configuration the number of the rival that says so, and the rate.
    """
    levels, level = np.unique(worths, return_inverse=True)
    bars = rates - np.maximum(0.0, levels[:, None] - theirs)
    rivals = np.argmax(bars, axis=1)
    return rivals[level], bars[np.arange(len(levels)), rivals][level]


def best_of_each(figures: Vector, worths: Vector, count: int) -> NDArray[np.intp]:
    """The `count` configurations with the highest figures, as many of each worth of a GFLOPS."""
    levels, level = np.unique(worths, return_inverse=True)
    order, each = np.argsort(-figures), -(-count // len(levels))
    return np.concatenate([order[level[order] == one][:each] for one in range(len(levels))])
