"""Linearises HPL's model in the unknown figures of a machine, so that runs can correct it with plain algebra."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Matrix, Vector
from .hpl_time import Shapes, log_rate
from .machine_figures import Prior

STEP = 1e-3
"""Standard deviations over which slopes are taken."""
AT_ONCE = 100
"""Configurations whose figures fit into a core's cache, with those of all slopes."""


@dataclass(frozen=True)
class LinearModel:
    """What the model says of configurations on a rung.

    Attributes:
        mean: logarithm of the rate in GFLOPS that the line has where each quantity is what it usually is, shape
            (configurations,).
        slopes: its change with each quantity, by standard deviation, shape (configurations, quantities).
    """

    mean: Vector
    slopes: Matrix

    def __len__(self) -> int:
        return len(self.mean)

    def and_then(self, more: "LinearModel") -> "LinearModel":
        """The predictions for these configurations, followed by those for others."""
        return LinearModel(np.append(self.mean, more.mean), np.concatenate([self.slopes, more.slopes]))

    def with_rows(self, places: Sequence[int], others: "LinearModel") -> "LinearModel":
        """The predictions with other configurations at some places."""
        mean, slopes = self.mean.copy(), self.slopes.copy()
        mean[places], slopes[places] = others.mean, others.slopes
        return LinearModel(mean, slopes)

    def of(self, places: NDArray[np.intp] | Sequence[int]) -> "LinearModel":
        """The predictions for some of the configurations."""
        rows = np.asarray(places, dtype=np.intp)
        return LinearModel(self.mean[rows], self.slopes[rows])


def straightened(shapes: Shapes, prior: Prior, moved: Vector, part: float, columns: float) -> LinearModel:
    """Linearise the model at the figures that a machine is believed to have.

    Args:
        prior: what quantities usually are.
        moved: how far each quantity is from what it usually is, in standard deviations, shape (quantities,).
        part, columns: as `log_rate` takes them.
    """
    cases = prior.at(moved + np.vstack([np.zeros_like(moved), STEP * np.eye(len(moved))]))
    distinct, numbers = shapes.distinct
    parts = [range(first, min(first + AT_ONCE, len(distinct))) for first in range(0, len(distinct), AT_ONCE)]
    rates = np.hstack([log_rate(distinct.of(rows), cases, part, columns) for rows in parts])
    slopes = (rates[1:] - rates[0]).T / STEP
    return LinearModel(rates[0] - slopes @ moved, slopes).of(numbers)
