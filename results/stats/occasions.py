"""By how much one machine differs between two occasions: days, boots, or whatever else runs beside HPL.

Runs within some hours are of one occasion, whatever studies they belong to. They do not tell how fast the machine is on
another, however many they are: the occasion is a random effect of its own (S. R. Searle, G. Casella, C. E. McCulloch,
"Variance Components", 1992, chapter 3). Its size follows from configurations that ran on several occasions, as
`hpltune check` makes one on each day, and from what is usual.
"""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from .noise import Array

USUAL_SD = 0.02
"""Usual standard deviation of the logarithm of a rate between occasions: 1 to 3 % is what acceptance teams see."""
USUAL_FREEDOM = 3
"""Occasions that this knowledge counts for, as degrees of freedom: a machine may well be three times as unsteady."""
APART = timedelta(hours=12)
"""Runs that begin within so long of the first of an occasion are of it: more checks an hour later show no other day."""
PLACES = 80
"""Equally probable differences by which the distribution is replaced where it is summed over."""


@dataclass(frozen=True)
class Occasions:
    """How rates of one configuration differ between occasions.

    Attributes:
        sd: standard deviation of the logarithm of the rate.
        freedom: degrees of freedom with which it is known.
        seen: differences between occasions that are in it, beside what is usual; 0 where it is only assumed.
        times: occasions that these are between.
    """

    sd: float = USUAL_SD
    freedom: int = USUAL_FREEDOM
    seen: int = 0
    times: int = 0

    @property
    def variance(self) -> float:
        """The variance of a difference of two occasions."""
        return 2.0 * self.sd**2

    @property
    def words(self) -> str:
        """Where the standard deviation is from, for a sentence."""
        if not self.seen:
            return f"assuming that occasions differ by {100 * self.sd:.1f} % (standard deviation), as usual"
        hours = APART // timedelta(hours=1)
        return (
            f"as occasions differ by {100 * self.sd:.1f} % (standard deviation) by what is stored of this machine: "
            f"{self.times} occasions, {hours} hours or more apart"
        )

    def reach(self, level: float) -> float:
        """Return how far apart two occasions are with a probability of 1 - level at most, in logarithms."""
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

        return float(stdtrit(self.freedom, 1.0 - level / 2.0)) * math.sqrt(self.variance)

    def differences(self) -> Array:
        """Return differences of two occasions, each as probable as each other."""
        from scipy.special import stdtrit  # noqa: PLC0415 - as above

        parts = (np.arange(PLACES) + 0.5) / PLACES
        return np.asarray(stdtrit(self.freedom, parts) * math.sqrt(self.variance))


@dataclass(frozen=True)
class TimedRate:
    """The rate of a run of a configuration, and when the run began."""

    began: datetime
    gflops: float


def occasions_of(histories: Sequence[Sequence[TimedRate]]) -> Occasions:
    """Learn how occasions differ; the usual where nothing ran on two.

    The variance is that of the mean logarithms of a configuration's occasions around their own mean, pooled over
    configurations, and weighed with the usual one by the degrees of freedom of both. What is usual of machines makes
    that of this one no better known: with the sum of both "faster" was wrong in 5.7 of 100 (1500 comparisons of five
    occasions that differ by 3 %). The noise of the few runs of an occasion is in it too, so it is rather too large.

    Args:
        histories: for each configuration its runs.
    """
    begins = _begins(run.began for history in histories for run in history)
    squares, seen, told = 0.0, 0, set[int]()
    for history in histories:
        logs = defaultdict[int, list[float]](list)
        for run in history:
            logs[bisect(begins, run.began)].append(math.log(run.gflops))
        if len(logs) > 1:
            means = np.array([np.mean(own) for own in logs.values()])
            squares += float(((means - means.mean()) ** 2).sum())
            seen += len(means) - 1
            told |= logs.keys()
    sd = math.sqrt((USUAL_FREEDOM * USUAL_SD**2 + squares) / (USUAL_FREEDOM + seen))
    return Occasions(sd, max(USUAL_FREEDOM, seen), seen, len(told))


def _begins(times: Iterable[datetime]) -> list[datetime]:
    """Return when each occasion began, in order."""
    begins = list[datetime]()
    for time in sorted(times):
        if not begins or time - begins[-1] >= APART:
            begins.append(time)
    return begins
