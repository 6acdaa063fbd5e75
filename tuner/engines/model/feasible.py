"""Estimates which configurations run at all, from those that did not."""

import numpy as np

from ..arrays import Codes, Matrix, Vector

AGAIN = 0.3
"""Chance that a value runs after one failure and no success; each further failure multiplies it by this part."""
ENOUGH = 4
"""Failures without a success after which a value is given up."""


def chance_to_run(codes: Codes, ran: Codes, failed: Codes) -> Vector:
    """The chance of each configuration to run, which is that of its worst value.

    A failure is held against those of its values that fared worst so far; a value is given up only for failures that
    no other value can be blamed for. So a library that crashes is given up after a few runs, and the block sizes that
    it was tried with are not.

    Args:
        codes: value numbers of the configurations, shape (points, axes); `ran` and `failed` those of past runs.
    """
    if not failed.size:
        return np.ones(len(codes))
    size = 1 + max(int(table.max(initial=0)) for table in (codes, ran, failed))
    good, bad = _counts(ran, np.ones(ran.shape), size), _counts(failed, np.ones(failed.shape), size)
    axes = np.arange(codes.shape[1])
    fared = ((good + 1) / (good + bad + 1))[axes, failed]
    blamed = fared <= fared.min(axis=1, keepdims=True)
    bad = _counts(failed, blamed.astype(float), size)
    alone = _counts(failed, (blamed & (blamed.sum(axis=1, keepdims=True) == 1)).astype(float), size)
    never = np.where(alone < ENOUGH, AGAIN**bad, 0.0)
    chance = np.where(good > 0, (good + 1) / (good + bad + 1), never)
    return np.asarray(chance[axes, codes].min(axis=1))


def _counts(rows: Codes, weights: Matrix, size: int) -> Matrix:
    """Sum of the weights of each value of each axis, shape (axes, values)."""
    return np.array([np.bincount(values, some, size) for values, some in zip(rows.T, weights.T, strict=True)])
