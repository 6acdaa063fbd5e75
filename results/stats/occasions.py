"""By how much one machine differs between two occasions: days, boots, or whatever else runs beside HPL.

Runs within some hours are of one occasion, whatever studies they belong to. They do not tell how fast the machine is on
another, however many they are: the occasion is a random effect of its own (S. R. Searle, G. Casella, C. E. McCulloch,
"Variance Components", 1992, chapter 3). Its size follows from configurations that ran on several occasions, as
`hpltune check` makes one on each day, and from what is usual.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import NormalDist

import numpy as np

from .noise import LOSS, Array, Noise, density, noise_of

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


SURE = 0.95
"""Probability from which the machine is called slower, and one minus that below which it is not."""
INTERVAL = 0.95
"""Probability that the change lies in the interval."""
STEPS = 30
"""Halvings of the interval in which a quantile is searched."""
NEAR = np.linspace(-6.0, 6.0, 61)
"""Distances from a run, in standard deviations, at which the density of the rate is computed."""
FAR = np.geomspace(0.1, 1.0, 25) * 10 * LOSS
"""Distances further away, in logarithms: a run may be a disturbed one."""
MOST_RUNS = 50
"""Of each time only so many runs count, the last: more tell nothing new, and their likelihood is no longer a number."""
MORE_RUNS = (1, 2, 3, 5, 8, 12, 20, 30, 40)
"""Numbers of further runs that are tried to find how many would tell."""


@dataclass(frozen=True)
class SpeedChange:
    """How much faster or slower a machine became.

    Attributes:
        probability_slower: that it is slower now by more than the tolerance.
        change_percent: estimate of the change of its rate from all runs (its posterior median, not the change of the
            median of the runs); negative is slower.
        interval_percent: the change is in it with a probability of INTERVAL.
        noise: standard deviation of runs that is expected, as a part of 1.
        probability_beyond_occasions: that it is slower by more than the tolerance and than two occasions of an
            unchanged machine differ; `probability_slower` where these are not known to differ.
        occasions: how far apart two occasions are.
    """

    probability_slower: float
    change_percent: float
    interval_percent: tuple[float, float]
    noise: float
    probability_beyond_occasions: float
    occasions: Occasions | None = None

    @property
    def slower(self) -> bool:
        """Whether the machine is surely slower by more than the tolerance, whatever the occasion."""
        return min(self.probability_slower, self.probability_beyond_occasions) > SURE

    @property
    def slower_now(self) -> bool:
        """Whether it is surely slower on this occasion, of which nothing tells whether it is more than the occasion."""
        return self.probability_slower > SURE and not self.slower

    @property
    def can_tell(self) -> bool:
        """Whether the probability is so large or so small that there is an answer."""
        return self.slower or self.probability_slower < 1 - SURE


@dataclass(frozen=True)
class _Rate:
    """What is believed of the logarithm of a rate if the noise is known.

    Attributes:
        logs: possible values, rising.
        weights: the probability of each.
        below: the probability of each value or a smaller one.
    """

    logs: Array
    weights: Array
    below: Array

    @staticmethod
    def of(runs: Array, noise: float) -> "_Rate":
        around = np.concatenate((-FAR, NEAR * noise, FAR))
        logs = np.unique(runs[:, None] + around)
        likely = density(runs[:, None] - logs, noise).prod(axis=0)
        parts = (likely[1:] + likely[:-1]) / 2 * np.diff(logs)
        below = np.concatenate(([0.0], np.cumsum(parts)))
        weights = np.zeros(len(logs))
        weights[1:] += parts / 2
        weights[:-1] += parts / 2
        return _Rate(logs, weights / below[-1], below / below[-1])


def speed_change(
    before: Sequence[float],
    now: Sequence[float],
    tolerance: float = 0.02,
    shown: float = 0.0,
    occasions: Occasions | None = None,
) -> SpeedChange:
    """Compare the rates of one configuration at two times.

    The formula. Runs of both times scatter around the logarithm of a rate, m before and m + d now, with the density of
    `noise.density`: a normal one of standard deviation s, with tails for disturbed runs, so that one slow run among
    fast ones counts little. The noise s is the same at both times; its posterior w(s) follows from the repeated runs
    of both, with the usual noise as prior (`noise.noise_of`). Of m and d nothing is known before (flat priors), so

        P(d < t) = sum over s of w(s) * integral of p(m | before, s) * P(m + d < m + t | now, s) dm.

    The machine is slower by more than the tolerance if d < log(1 - tolerance). This is J. K. Kruschke's comparison of
    two groups by a robust likelihood with a region of practical equivalence ("Bayesian estimation supersedes the t
    test", Journal of Experimental Psychology: General 142, 2013), on logarithms, with this project's density of runs.

    It knows nothing of what disturbs all runs of one time alike: a machine that is busy now is slower now. Whether that
    is more than two occasions of an unchanged machine differ follows by adding their difference to d.

    Args:
        before, now: rates, above 0, at least one each, in the order of the runs.
        tolerance: loss that is no reason to worry, as a part of 1, at least 0 and below 1.
        shown: noise of the machine from other runs, as in `noise.noise_of`.
        occasions: how the machine differs between occasions; None where both times are one.
    """
    old, new = np.log(np.asarray(before[-MOST_RUNS:])), np.log(np.asarray(now[-MOST_RUNS:]))
    noise = noise_of([old, new], shown)
    rates = [(_Rate.of(old, size), _Rate.of(new, size)) for size in noise.sizes]
    low, middle, high = (
        100 * math.expm1(_quantile(part, rates, noise)) for part in ((1 - INTERVAL) / 2, 0.5, (1 + INTERVAL) / 2)
    )
    worst = math.log1p(-tolerance)
    chance = _below(worst, rates, noise)
    beyond = chance
    if occasions is not None:
        beyond = float(np.mean([_below(worst + apart, rates, noise) for apart in occasions.differences()]))
    return SpeedChange(chance, middle, (low, high), noise.usual, beyond, occasions)


def runs_to_tell(
    before: Sequence[float],
    now: Sequence[float],
    tolerance: float = 0.02,
    shown: float = 0.0,
    occasions: Occasions | None = None,
) -> int | None:
    """Estimate how many further runs now would give an answer; None if no number up to MOST_RUNS would.

    The further runs are supposed to scatter around the median of those of now with the expected noise.

    Args:
        before, now, tolerance, shown, occasions: as of `speed_change`.
    """
    noise = speed_change(before, now, tolerance, shown).noise
    middle = float(np.median(np.log(np.asarray(now))))
    for more in (more for more in MORE_RUNS if len(now) + more <= MOST_RUNS):
        places = [NormalDist(middle, noise).inv_cdf((place + 0.5) / more) for place in range(more)]
        if speed_change(before, [*now, *map(math.exp, places)], tolerance, shown, occasions).can_tell:
            return more
    return None


def _below(change: float, rates: Sequence[tuple[_Rate, _Rate]], noise: Noise) -> float:
    """Compute the probability that the change of the logarithm is below a value."""
    parts = [old.weights @ np.interp(old.logs + change, new.logs, new.below) for old, new in rates]
    return float(np.clip(noise.weights @ np.asarray(parts), 0.0, 1.0))


def _quantile(part: float, rates: Sequence[tuple[_Rate, _Rate]], noise: Noise) -> float:
    """Find the change of the logarithm below which it lies with a probability."""
    low = min(new.logs[0] - old.logs[-1] for old, new in rates)
    high = max(new.logs[-1] - old.logs[0] for old, new in rates)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, rates, noise) < part else (low, middle)
    return float((low + high) / 2)
