"""By how much one machine differs between two occasions: days, boots, or whatever else runs beside HPL.

Runs of one study are of one occasion. They do not tell how fast the machine is on another, however many they are: the
occasion is a random effect of its own (S. R. Searle, G. Casella, C. E. McCulloch, "Variance Components", 1992, chapter
3). Its size follows from configurations that ran on several occasions, as each `hpltune check` makes one, and from what
is usual.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .noise import Array

USUAL_SD = 0.02
"""Usual standard deviation of the logarithm of a rate between occasions: 1 to 3 % is what acceptance teams see."""
USUAL_FREEDOM = 3
"""Occasions that this knowledge counts for, as degrees of freedom: a machine may well be three times as unsteady."""
PLACES = 80
"""Equally probable differences by which the distribution is replaced where it is summed over."""


@dataclass(frozen=True)
class Occasions:
    """How rates of one configuration differ between occasions.

    Attributes:
        sd: standard deviation of the logarithm of the rate.
        freedom: degrees of freedom with which it is known.
        seen: differences between occasions that are in it, beside what is usual; 0 where it is only assumed.
    """

    sd: float = USUAL_SD
    freedom: int = USUAL_FREEDOM
    seen: int = 0

    @property
    def variance(self) -> float:
        """The variance of a difference of two occasions."""
        return 2.0 * self.sd**2

    @property
    def words(self) -> str:
        """Where the standard deviation is from, for a sentence."""
        if not self.seen:
            return f"assuming that occasions differ by {100 * self.sd:.1f} % (standard deviation), as usual"
        return f"as occasions differ by {100 * self.sd:.1f} % (standard deviation) by what is stored of this machine"

    def reach(self, level: float) -> float:
        """Return how far apart two occasions are with a probability of 1 - level at most, in logarithms."""
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

        return float(stdtrit(self.freedom, 1.0 - level / 2.0)) * math.sqrt(self.variance)

    def differences(self) -> Array:
        """Return differences of two occasions, each as probable as each other."""
        from scipy.special import stdtrit  # noqa: PLC0415 - as above

        parts = (np.arange(PLACES) + 0.5) / PLACES
        return np.asarray(stdtrit(self.freedom, parts) * math.sqrt(self.variance))


def occasions_of(histories: Sequence[Sequence[Sequence[float]]]) -> Occasions:
    """Learn how occasions differ; the usual where nothing ran on two.

    The variance is that of the mean logarithms of a configuration's occasions around their own mean, pooled over
    configurations, and weighed with the usual one by the degrees of freedom of both. The noise of the few runs of an
    occasion is in it too, so it is rather too large.

    Args:
        histories: for each configuration, for each occasion on which it ran, its rates.
    """
    squares, seen = 0.0, 0
    for occasions in histories:
        means = np.array([np.log(rates).mean() for rates in occasions])
        if len(means) > 1:
            squares += float(((means - means.mean()) ** 2).sum())
            seen += len(means) - 1
    freedom = USUAL_FREEDOM + seen
    return Occasions(math.sqrt((USUAL_FREEDOM * USUAL_SD**2 + squares) / freedom), freedom, seen)
