"""Compares the rates of two configurations or more: effects, intervals, tests, and how many more runs would help.

All is computed on logarithms of rates, as in `noise.py`: their difference is the logarithm of the ratio of the rates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import scipy

from .noise import Array, Noise
from .occasions import Occasions
from .paired import Lead
from .ranking import Time

Test = Literal["paired", "rounds", "welch", "none"]

LEVEL = 0.05
"""A difference is shown where p is below this; intervals hold the true effect with a probability of 1 - LEVEL."""
POWER = 0.8
"""Probability of showing a difference that is there, for which the needed runs are computed."""
LEAST_PAIRS = 4
"""Rounds in which both sides ran from which the differences within rounds are tested: fewer tell too little of how much
they differ."""
LEAST_NEEDED = 3
"""Fewest runs of each side that are asked for."""
FEW = 20
"""Below so many runs the normal approximation asks for one too few, since the test is one of t."""


@dataclass(frozen=True)
class RateSample:
    """The runs of one configuration.

    Attributes:
        gflops: the rates, at least one, above 0.
        noise: of runs in its study; the same object for all configurations of one study.
        simulated: the runs are a simulator's, which gives the same rate each time.
        noise_seen: something ran twice in its study, so that the noise is not only what is usual.
        times: of each run, where those of two sides with the same time ran in turn; empty if none did.
    """

    gflops: tuple[float, ...]
    noise: Noise
    simulated: bool = False
    times: tuple[Time, ...] = ()
    noise_seen: bool = True

    @property
    def exact(self) -> bool:
        """Whether one more run would give the same rate."""
        return self.simulated and len(set(self.gflops)) == 1

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.gflops)

    def in_rounds(self) -> dict[Time, float]:
        """Return the logarithm of its rate in each round."""
        return {time: math.log(rate) for time, rate in zip(self.times, self.gflops, strict=False) if time.turn}

    @property
    def log_mean(self) -> float:
        """The mean of the logarithms of the rates."""
        return float(np.log(self.gflops).mean())

    @property
    def log_sd(self) -> float:
        """The standard deviation of the logarithms of its rates; 0 for a single run or equal runs."""
        return float(np.log(self.gflops).std(ddof=1)) if len(set(self.gflops)) > 1 else 0.0


@dataclass(frozen=True)
class Contrast:
    """The difference between two configurations.

    Attributes:
        effect: logarithm of the rate of the first over that of the second.
        interval: low and high end of its 95 % confidence interval; None where nothing ran twice on either side.
        test: "paired" and "rounds" of rounds in which both ran; "none" where a side has a single run or no side has any
            spread: then the noise of the study gives the interval.
        p: of the test, for no difference; None without a test.
        p_holm: p corrected for the number of pairs; None without a test.
        runs: of the first and of the second.
        needed_runs: how many more runs of each would show a difference of the stated size; None where no number would,
            as it may be one of the occasions, and where nothing tells how much runs differ.
        exact: both sides are simulated, so that the effect is known without an interval and no run is needed.
        confirming_runs: how many more runs of each would show the difference that was seen; None as of needed_runs.
        occasions: how far apart two occasions are, where both sides ran on different ones: interval and p have it in.
        same_occasion: the interval without that, which holds for these two occasions only.
    """

    effect: float
    interval: tuple[float, float] | None
    test: Test
    p: float | None
    p_holm: float | None
    runs: tuple[int, int]
    needed_runs: tuple[int, int] | None
    exact: bool = False
    confirming_runs: tuple[int, int] | None = (0, 0)
    occasions: Occasions | None = None
    same_occasion: tuple[float, float] | None = None

    @property
    def shown(self) -> bool:
        """Whether there is a difference: by the corrected p, or by the interval, or, without chance, in the rates."""
        if self.p_holm is not None:
            return self.p_holm < LEVEL
        return self.effect != 0.0 if self.exact else _apart_from_zero(self.interval)

    @property
    def seen_on_these_occasions(self) -> bool:
        """Whether there was a difference then, which may be one of the occasions."""
        return _apart_from_zero(self.same_occasion)

    @property
    def effect_percent(self) -> float:
        """How much faster the first is, in percent of the second; below 0 if it is slower."""
        return 100.0 * math.expm1(self.effect)

    @property
    def interval_percent(self) -> tuple[float, float] | None:
        """The interval in percent of the second."""
        return in_percent(self.interval)


def in_percent(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return ends in logarithms as percentages."""
    return None if ends is None else (100.0 * math.expm1(ends[0]), 100.0 * math.expm1(ends[1]))


def _apart_from_zero(ends: tuple[float, float] | None) -> bool:
    return ends is not None and not ends[0] <= 0.0 <= ends[1]


def contrasts(samples: Sequence[RateSample], difference: float, occasions: Occasions | None = None) -> list[Contrast]:
    """Compare each of some configurations with each that follows it.

    Args:
        samples: at least two.
        difference: the relative difference for which the needed runs are computed, above 0; 0.01 is 1 %.
        occasions: each side ran on an occasion of its own, and by so much occasions differ; None for one occasion.
    """
    pairs = list(combinations(samples, 2))
    found = [_contrast(one, other, difference, len(pairs), occasions) for one, other in pairs]
    return corrected_for_many(found)


def corrected_for_many(found: Sequence[Contrast]) -> list[Contrast]:
    """Return differences with their p corrected for their number."""
    found = list(found)
    tested = [number for number, contrast in enumerate(found) if contrast.p is not None]
    corrected = holm([p for contrast in found if (p := contrast.p) is not None])
    for number, p_holm in zip(tested, corrected, strict=True):
        found[number] = replace(found[number], p_holm=p_holm)
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values of several tests for their number, so that with 95 % probability no difference is shown falsely.

    The smallest is multiplied by the number of tests, the next one by one less, and so on; none becomes smaller than
    the one before it. Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6 (1979), pages 65 to 70.
    """
    corrected, least = [0.0] * len(p_values), 0.0
    for step, number in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        least = max(least, min(1.0, (len(p_values) - step) * p_values[number]))
        corrected[number] = least
    return corrected


def runs_of_each(
    sds: tuple[float, float], difference: float, level: float = LEVEL, occasions: Occasions | None = None
) -> int | None:
    """Return how many runs of each side show a difference with 80 % power, by the normal approximation.

    n = (z_(1 - level / 2) + z_power)^2 (sd_1^2 + sd_2^2) / log(1 + difference)^2. Source: S.-C. Chow, J. Shao, H. Wang,
    "Sample Size Calculations in Clinical Research", 2nd edition 2008, section 3.2.1, for equal numbers of both. One
    more stands for the t test where these are few.

    The variance between two occasions remains however many runs there are, so it is taken off the square of the
    difference; None where nothing is left. It is known with few degrees of freedom, so the quantile of the level is
    that of t.

    Args:
        sds: standard deviations of the logarithms of the rates.
        difference: relative difference, above 0.
        level: two-sided level of the test.
        occasions: as of `contrasts`.
    """
    first = (
        scipy.special.stdtrit(occasions.freedom, 1.0 - level / 2.0)
        if occasions
        else scipy.special.ndtri(1.0 - level / 2.0)
    )
    quantiles, apart = float(first + scipy.special.ndtri(POWER)), occasions.variance if occasions else 0.0
    left = math.log1p(difference) ** 2 - quantiles**2 * apart
    if left <= 0:
        return None
    runs = quantiles**2 * (sds[0] ** 2 + sds[1] ** 2) / left
    return max(LEAST_NEEDED, math.ceil(runs) + (LEAST_NEEDED < runs < FEW))


def _contrast(
    one: RateSample, other: RateSample, difference: float, pairs: int, occasions: Occasions | None
) -> Contrast:
    """Compare two configurations; `pairs` is how many pairs are compared, as Holm's first step counts them."""
    effect, runs = one.log_mean - other.log_mean, (one.runs, other.runs)
    if one.exact and other.exact:
        return Contrast(effect, (effect, effect), "none", None, None, runs, (0, 0), exact=True)
    pairs_apart = _in_turn(one, other)
    if pairs_apart is not None:
        return _paired(pairs_apart, difference, pairs)
    sds = (max(one.log_sd, one.noise.usual), max(other.log_sd, other.noise.usual))
    more = _more_runs(runs, sds, difference, pairs, occasions)
    confirming = _more_runs(runs, sds, math.expm1(abs(effect)), pairs, occasions)
    found = Contrast(effect, None, "none", None, None, runs, more, confirming_runs=confirming, occasions=occasions)
    if min(runs) < 2 or not (one.log_sd or other.log_sd):
        if not (one.noise_seen or other.noise_seen):
            return replace(found, needed_runs=None, confirming_runs=None)
        near = _known_reach(one, other)
        wide = math.hypot(near, occasions.reach(LEVEL)) if occasions else near
        return replace(found, interval=_around(effect, wide), same_occasion=_around(effect, near))
    near, _ = _welch(one, other, None)
    wide, p = _welch(one, other, occasions)
    return replace(found, test="welch", p=p, interval=_around(effect, wide), same_occasion=_around(effect, near))


def _around(effect: float, reach: float) -> tuple[float, float]:
    return effect - reach, effect + reach


def _more_runs(
    runs: tuple[int, int],
    sds: tuple[float, float],
    difference: float,
    pairs: int,
    occasions: Occasions | None = None,
) -> tuple[int, int] | None:
    """Return how many more runs of each side show a difference; none where it is none, None where no number does."""
    if not difference > 0:
        return None if occasions else (0, 0)
    needed = runs_of_each(sds, difference, LEVEL / pairs, occasions)
    return None if needed is None else (max(0, needed - runs[0]), max(0, needed - runs[1]))


def _in_turn(one: RateSample, other: RateSample) -> Array | None:
    """Return the differences of the logarithms in the rounds in which both ran; None if these are too few to test."""
    ours, theirs = one.in_rounds(), other.in_rounds()
    apart = np.array([ours[time] - theirs[time] for time in sorted(ours.keys() & theirs.keys())])
    return apart if len(apart) >= LEAST_PAIRS and np.ptp(apart) > 0 else None


def _paired(apart: Array, difference: float, pairs: int) -> Contrast:
    """Compare two configurations that ran in turn, by the differences within rounds; scipy's `ttest_1samp`."""
    found = scipy.stats.ttest_1samp(apart, 0.0)
    ends = found.confidence_interval(1.0 - LEVEL)
    runs, sd = (len(apart), len(apart)), float(apart.std(ddof=1)) / math.sqrt(2)
    more = _more_runs(runs, (sd, sd), difference, pairs)
    effect, interval = float(apart.mean()), (float(ends.low), float(ends.high))
    confirming = _more_runs(runs, (sd, sd), math.expm1(abs(effect)), pairs)
    return Contrast(
        effect,
        interval,
        "paired",
        float(found.pvalue),
        None,
        runs,
        more,
        confirming_runs=confirming,
        same_occasion=interval,
    )


def of_lead(lead: Lead, rounds: int, sd: float, difference: float, pairs: int) -> Contrast:
    """Return a difference as rounds tell it, so that it is told by one statistic wherever it is told.

    Args:
        rounds: in which both ran.
        sd: noise of a run, for the runs that are needed.
        difference, pairs: as of `contrasts`.
    """
    low, high = (math.log1p(percent / 100.0) for percent in lead.interval_percent)
    effect, runs = math.log1p(lead.percent / 100.0), (rounds, rounds)
    p = min(1.0, 2.0 * min(lead.chance, 1.0 - lead.chance))
    more = _more_runs(runs, (sd, sd), difference, pairs)
    confirming = _more_runs(runs, (sd, sd), math.expm1(abs(effect)), pairs)
    return Contrast(
        effect, (low, high), "rounds", p, None, runs, more, confirming_runs=confirming, same_occasion=(low, high)
    )


def _welch(one: RateSample, other: RateSample, occasions: Occasions | None) -> tuple[float, float]:
    """Return half the length of Welch's confidence interval, and the two-sided p.

    Source: B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34 (1947), pages 28 to 35. It is scipy's `ttest_ind` with `equal_var=False`, which warns where
    the runs of one side are all alike. The variance between two occasions is one more part of the sum, with the degrees
    of freedom with which it is known.
    """
    parts = [(sample.log_sd**2 / sample.runs, sample.runs - 1) for sample in (one, other)]
    parts += [(occasions.variance, occasions.freedom)] if occasions else []
    variance = sum(part for part, _ in parts)
    error, freedom = math.sqrt(variance), variance**2 / sum(part**2 / own for part, own in parts)
    p = float(2.0 * scipy.stats.t.sf(abs(one.log_mean - other.log_mean) / error, freedom))
    return float(error * scipy.stats.t.ppf(1.0 - LEVEL / 2.0, freedom)), p


def _known_reach(one: RateSample, other: RateSample) -> float:
    """Return half the length of the interval from the posterior of the noise of both studies."""
    ours, theirs = one.noise.sizes**2 / one.runs, other.noise.sizes**2 / other.runs
    if one.noise is other.noise:
        sds, weights = np.sqrt(ours + theirs), one.noise.weights
    else:
        sds = np.sqrt(np.add.outer(ours, theirs)).ravel()
        weights = np.outer(one.noise.weights, other.noise.weights).ravel()

    def outside(reach: float) -> float:
        return float(weights @ scipy.special.ndtr(-reach / sds)) - LEVEL / 2.0

    return float(scipy.optimize.brentq(outside, 0.0, 10.0 * float(sds.max())))
