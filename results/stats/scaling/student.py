"""Student's interval of a difference of mean logarithms, with the scatter of all groups pooled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ..noise import USUAL_NOISE
from ..prediction_margin import USUAL_COUNT

PRINTED = 5e-4
"""What four printed digits of a rate round away, so that exact runs seem to differ by it."""
COVERAGE = 0.95
"""Probability with which an interval holds the true value."""


@dataclass(frozen=True)
class Scatter:
    """The standard deviation of one run's logarithm.

    Attributes:
        freedom: degrees of freedom; 0 where nothing is known, because nothing ran twice.
    """

    sd: float
    freedom: int

    def margin(self, *runs: int) -> float | None:
        """Return half the width of the interval of a difference between means of so many runs each, or None.

        Args:
            runs: the number of runs in each mean.
        """
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

        if not self.freedom:
            return None
        quantile = float(stdtrit(self.freedom, (1 + COVERAGE) / 2))
        return quantile * self.sd * math.sqrt(sum(1 / count for count in runs))


def scatter_of(samples: Sequence[Sequence[float]], *, exact: bool = False) -> Scatter:
    """Pool the scatter of several groups of logarithms around the mean of each.

    The usual noise of runs (1 %) counts as two more degrees of freedom, so that three runs that happen to be equal
    do not give an interval without a width.

    Args:
        exact: a run gives the same each time, as a simulation without noise does; then only what differs counts.
    """
    squares = sum((value - fmean(own)) ** 2 for own in samples for value in own)
    freedom = sum(len(own) - 1 for own in samples)
    if not exact:
        squares, freedom = squares + USUAL_COUNT * USUAL_NOISE**2, freedom + USUAL_COUNT
    sd = math.sqrt(squares / freedom) if freedom else 0.0
    return Scatter(0.0, 0) if exact and sd < PRINTED else Scatter(sd, freedom)
