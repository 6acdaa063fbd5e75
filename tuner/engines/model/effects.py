"""The prior covariance of the effects that are learnt beside HPL's model.

    sum_d a_d g_d + sum_{d<e} sqrt(pair a_d a_e) g_de + rest

Each g is a process of its own, correlated as the values of its axis are (`axes.py`), a pair's as the product of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Codes, Matrix
from .scales import Scales

HALF_RELEVANT = 0.02
"""Amplitude at which an axis counts half in what no pair explains."""


@dataclass(frozen=True)
class Effects:
    """Effects whose sizes are known.

    Attributes:
        correlations: of each axis between its values, shape (values, values).
    """

    scales: Scales
    correlations: Sequence[Matrix]

    @property
    def variance(self) -> float:
        """The variance of the effects at one configuration: all correlations are 1 there."""
        amplitude = self.scales.amplitude
        pairs = 0.5 * (amplitude.sum() ** 2 - (amplitude**2).sum())
        return float((amplitude**2).sum() + self.scales.pair * pairs + self.scales.rest**2)

    def covariance(self, ones: Codes, others: Codes) -> Matrix:
        """The covariance of the effects between configurations, shape (ones, others).

        `sums` over the axes, taken as products of two matrices: what the tables say of the values of the ones, and
        which values the others have.
        """
        amplitude, pair = self.scales.amplitude, self.scales.pair
        tables = [size * table for size, table in zip(amplitude, self.correlations, strict=True)]
        single = [table * (size - 0.5 * pair * table) for size, table in zip(amplitude, tables, strict=True)]
        total, weighted = np.zeros((2, len(ones), len(others)))
        if tables:
            have = np.vstack([np.eye(len(table))[:, values] for table, values in zip(tables, others.T, strict=True)])
            total, weighted = (
                np.hstack([table[values] for table, values in zip(kind, ones.T, strict=True)]) @ have
                for kind in (single, tables)
            )
        return np.asarray(total + 0.5 * pair * weighted**2 + self.scales.rest**2 * self.together(ones, others))

    def together(self, ones: Codes, others: Codes) -> Matrix:
        """The correlation of what no pair explains: high only where all axes that matter are alike."""
        relevance = self.scales.amplitude / (self.scales.amplitude + HALF_RELEVANT)
        tables = (1 - part * (1 - table) for part, table in zip(relevance, self.correlations, strict=True))
        product = np.ones((len(ones), len(others)))
        for table, mine, theirs in zip(tables, ones.T, others.T, strict=True):
            product *= table.take(theirs, axis=1).take(mine, axis=0)
        return product


def sums(scales: Scales, alike: Sequence[Matrix], shape: tuple[int, int]) -> tuple[Matrix, Matrix, Matrix]:
    """Covariance of the effects of single axes and of pairs; the sum of a_d k_d, and that of its squares.

    Args:
        alike: correlations k_d of each axis, of this shape.
    """
    main, weighted, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for amplitude, one in zip(scales.amplitude, alike, strict=True):
        main += amplitude**2 * one
        weighted += amplitude * one
        squares += (amplitude * one) ** 2
    return main + 0.5 * scales.pair * (weighted**2 - squares), weighted, squares
