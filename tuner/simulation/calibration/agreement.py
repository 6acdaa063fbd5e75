"""How well predicted rates agree with real ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scipy.stats import spearmanr

FEWEST = 3
"""The fewest configurations whose order says something."""


@dataclass(frozen=True)
class Agreement:
    """Real and predicted rates, configuration by configuration.

    Attributes:
        errors: predicted over real, less 1.
        correlation: Spearman's, from -1 to 1; not a number with fewer than FEWEST configurations.
        winner: the real rate of the predicted winner over the real rate of the real winner, at most 1.
    """

    errors: tuple[float, ...]
    correlation: float
    winner: float

    @property
    def median_error(self) -> float:
        """The median size of the errors."""
        return median(abs(error) for error in self.errors)

    @property
    def largest_error(self) -> float:
        """The size of the largest error."""
        return max(abs(error) for error in self.errors)

    @property
    def bias(self) -> float:
        """The median of the errors with their signs: what they have in common."""
        return median(self.errors)


def agreement(real: Sequence[float], predicted: Sequence[float]) -> Agreement:
    """Compare the rates of the same configurations; all are above zero, and there is at least one."""
    order = spearmanr(real, predicted).statistic if len(real) >= FEWEST else math.nan
    chosen = max(range(len(real)), key=lambda number: predicted[number])
    errors = tuple(guess / rate - 1 for rate, guess in zip(real, predicted, strict=True))
    return Agreement(errors, float(order), real[chosen] / max(real))
