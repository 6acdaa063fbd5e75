"""What a larger N would give: HPL's time there from smaller runs of a configuration, and how far off that may be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpl.sizing import gflops as rate
from hpl.sizing import seconds
from results.metrics import four_digits
from results.stats.intervals import non_negative
from results.stats.noise import Array, Noise

from ...machine.problem_size import Sample
from ...units import duration

COVERAGE = 0.9
"""Probability that a run at N lies within what is told."""
STEEP, BENT = 0.1, 0.015
"""Standard deviation of what three terms miss at e times the largest N: a part of the logarithm by which the rate grew
there for each e-fold N, and what is added for each e-fold N on the way (benchmarks/whole_memory.py)."""
FARTHEST = 8
"""Times the largest N up to which it was tested what runs tell of a larger one (benchmarks/whole_memory.py)."""
ABOVE_RUNS = 1.05
"""Times the rate of the fastest run that a larger N may give where dgemm was no faster: its rate differs, too."""
FEWER = 0.1
"""What fewer than three sizes miss beside, which do not fix three terms, at e times the largest of them, times the
square of how many sizes are missing."""
DRAWS = 500
Terms = tuple[float, float, float]


@dataclass(frozen=True)
class Extrapolation:
    """HPL's time at a larger N, predicted from smaller runs of the same configuration.

    Attributes:
        coefficients: a, b, c of T = a N^3 + b N^2 + c N, all at least zero.
        time_s, gflops: predicted for `N`.
        gflops_range: lowest and highest rate between which one run at N is expected with COVERAGE.
        largest_n: N of the largest run it is made from.
        part: of the columns of that run, 1 where it ended.
        can_tell: the runs tell the rate at N. They do not where N is too far from theirs, or where something disturbed
            the largest of them.
        disturbed: something did.
    """

    N: int
    coefficients: Terms
    time_s: float
    gflops: float
    gflops_range: tuple[float, float]
    largest_n: int
    can_tell: bool = True
    part: float = 1.0
    disturbed: bool = False

    @property
    def too_far(self) -> bool:
        """Whether N is so much larger than that of the runs that they say nothing of it."""
        return FARTHEST * self.largest_n < self.N

    @property
    def sentence(self) -> str:
        """What a run at N is expected to give, or that the runs cannot tell it."""
        low, high = self.gflops_range
        stopped = "" if self.part == 1 else f", of which only the first {self.part:.0%} ran there"
        if self.can_tell:
            return (
                f"expect about {duration(self.time_s)} and {four_digits(self.gflops)} GFLOPS ({COVERAGE:.0%} of runs: "
                f"{four_digits(low)} to {four_digits(high)}), predicted from runs up to N={self.largest_n}{stopped}"
            )
        why = ": something disturbed the largest of them" if self.disturbed else ""
        if self.too_far:
            why = (
                f": N is {self.N / self.largest_n:.3g} times as large, and runs tell the rate of an N that is at most "
                f"{FARTHEST} times their own"
            )
        return f"these runs, up to N={self.largest_n}, cannot tell its rate{why}"

    def to_json(self) -> dict[str, Any]:
        """What is told of it, as JSON can hold it; no rate and no time where the runs cannot tell them."""
        expected = {name: getattr(self, name) if self.can_tell else None for name in ("time_s", "gflops")}
        told = {name: getattr(self, name) for name in ("largest_n", "can_tell", "sentence")}
        ends = None if self.too_far else self.gflops_range
        return {"N": self.N, **expected, "gflops_range": ends, **told, "coverage": COVERAGE}


def extrapolate(
    samples: Sequence[Sample],
    N: int,
    noise: Noise,
    ceiling_gflops: float = math.inf,
    fastest_gflops: float = 0.0,
    dgemm_gflops: float = math.inf,
) -> Extrapolation:
    """Predict HPL's time at N by non-negative least squares on relative errors of T = a N^3 + b N^2 + c N.

    Runs up to 0.4 N predicted the time of 960-rank runs within 1.5 % this way (Dahu data, Cornebize and Legrand);
    from smaller ones it is optimistic by several percent. T is never below the time of HPL's operations at the rate of
    dgemm. How far it may be off is drawn: samples that differ by the noise, what three terms miss, which is more the
    faster the rate still grew, and a run at N that differs by the noise too.

    Args:
        samples: runs at one or more N; three different N fix all coefficients.
        noise: by how much runs differ.
        ceiling_gflops: no run is faster; no bound where a run was, for then the machine does not tell its clock.
        fastest_gflops: the fastest single run, where a sample is what is expected of several.
        dgemm_gflops: no more is expected, or no more than a little above the fastest run; a single run may give more.

    Raises:
        ValueError: without samples.
    """
    if not samples:
        raise ValueError("nothing to extrapolate from")
    largest = max(samples, key=lambda sample: (sample.N, sample.part))
    fastest_gflops = max([fastest_gflops, *(rate(one.N, one.time_s) for one in samples if one.part == 1)])
    most_gflops = ceiling_gflops if fastest_gflops <= ceiling_gflops else math.inf
    usual_gflops = min(most_gflops, max(dgemm_gflops, ABOVE_RUNS * fastest_gflops))
    terms = _fitted(samples, np.ones(len(samples)), usual_gflops)
    gflops = _gflops(terms, N)
    chance = np.random.default_rng(0)
    steady, steep, one_run = drawn_rates(samples, N, usual_gflops, noise, chance)
    farther, missing = math.log(N / largest.N), max(0, 3 - len({sample.N for sample in samples}))
    misfit = farther * (STEEP * steep + BENT * farther + FEWER * missing**2)
    drawn = steady * one_run * np.exp(misfit * chance.standard_normal(DRAWS))
    low, high = (float(edge) for edge in np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]))
    return Extrapolation(
        N=N,
        coefficients=terms,
        time_s=seconds(N, gflops),
        gflops=gflops,
        gflops_range=(min(low, gflops), min(max(high, gflops), most_gflops)),
        largest_n=largest.N,
        can_tell=FARTHEST * largest.N >= N and not largest.disturbed,
        part=largest.part,
        disturbed=largest.disturbed,
    )


def drawn_rates(
    samples: Sequence[Sample], N: int, usual_gflops: float, noise: Noise, chance: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draw what runs that differ by the noise would tell.

    Returns:
        DRAWS usual rates at N, logarithms by which rates grew for each e-fold N up to the largest of the runs, and
        factors by which one more run differs.
    """
    sd = chance.choice(noise.sizes, DRAWS, p=noise.weights)[:, None]
    off = np.exp(sd * chance.standard_normal((DRAWS, len(samples) + 1)))
    fits = [_fitted(samples, row, usual_gflops) for row in off[:, 1:]]
    largest_n = max(sample.N for sample in samples)
    steady, last, half = (np.array([_gflops(fit, size) for fit in fits]) for size in (N, largest_n, largest_n // 2))
    return steady, np.abs(np.log2(last / half)), off[:, 0]


def _fitted(samples: Sequence[Sample], off: Array, most_gflops: float) -> Terms:
    """The terms of T(N), where times are off by factors; the first columns take T(N) - T(columns that are left).

    What is fitted is the time beyond that of HPL's operations, 2/3 N^3 + 3/2 N^2, at `most_gflops`.
    """
    sizes = np.array([sample.N for sample in samples], dtype=float)
    left = sizes * [1 - sample.part for sample in samples]
    times = off * [sample.time_s for sample in samples]
    terms = np.stack([sizes**power - left**power for power in (3, 2, 1)], axis=1) / times[:, None]
    least = np.array([2 / 3, 3 / 2, 0.0]) / (1e9 * most_gflops)
    scale = terms.max(axis=0)
    a, b, c = (float(term) for term in least + non_negative(terms / scale, np.maximum(1 - terms @ least, 0.0)) / scale)
    return a, b, c


def _gflops(terms: Terms, N: int) -> float:
    a, b, c = terms
    return rate(N, a * N**3 + b * N**2 + c * N)
