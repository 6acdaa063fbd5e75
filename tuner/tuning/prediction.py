"""What is predicted of the whole memory: of a study's winner, and of those that may overtake it there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from results.metrics import four_digits
from results.record import Study
from results.stats.noise import Noise
from results.store.store import Store

from ..machine.problem_size import Sample
from .extrapolation import DRAWS, Extrapolation, bound, drawn_rates

MISFIT_APART = 0.2
"""Standard deviation of what three terms miss of one configuration and not of the other, in parts of the logarithm by
which they say the rate will grow (benchmarks/whole_memory.py)."""
APART = 0.1
"""Standard deviation by which the ratio of two configurations changes up to an N that is e times as large, where
nothing but their rates now is known (benchmarks/whole_memory.py)."""


@dataclass(frozen=True)
class Rival:
    """A configuration that was nearly as fast as the winner, with what it should give at the whole memory.

    Attributes:
        trial: stands for it.
        differs: what it has in place of the winner's values, as "NB=256", of what changes with N.
        full: predicted of it.
        faster: the probability that it is faster than the winner there; None where the runs cannot tell.
    """

    trial: int
    differs: str
    full: Extrapolation
    faster: float | None

    @property
    def called(self) -> str:
        """Its name beside others."""
        return f"{self.differs} (trial {self.trial})"


@dataclass(frozen=True)
class NotedPrediction:
    """A prediction, with the trial that stands for the configuration it is made for, and its rivals."""

    full: Extrapolation
    trial: int
    rivals: tuple[Rival, ...] = ()

    @property
    def overtaker(self) -> Rival | None:
        """The rival of which most is predicted, where that is more than of the winner."""
        above = [one for one in self.rivals if one.faster is not None and one.full.gflops > self.full.gflops]
        return max(above, key=lambda one: one.full.gflops, default=None)

    def sentence(self, rival: Rival) -> str:
        """Whether a rival may be faster than the winner, without a full stop."""
        if rival.faster is None:
            return f"These runs cannot tell whether {rival.called} is faster at N={rival.full.N}"
        rates, chance = f"{_rate(rival.full)} against {_rate(self.full)}", f"{rival.faster:.0%}"
        who = f"At N={rival.full.N} {rival.called}"
        if rival.full.gflops > self.full.gflops:
            return f"{who} may be faster than the best: {rates}; the probability of that is {chance}"
        return f"{who} should stay slower than the best: {rates}; the probability that it is faster is {chance}"

    def to_json(self) -> dict[str, Any]:
        """What is told of it, as JSON can hold it."""
        rivals = [
            {
                **rival.full.to_json(),
                "trial": rival.trial,
                "differs": rival.differs,
                "faster": rival.faster,
                "sentence": self.sentence(rival),
            }
            for rival in self.rivals
        ]
        return {**self.full.to_json(), "trial": self.trial, "rivals": rivals}


def _rate(full: Extrapolation) -> str:
    low, high = full.gflops_range
    return f"{four_digits(full.gflops)} GFLOPS ({four_digits(low)} to {four_digits(high)})"


def probability_faster(
    rival: Sequence[Sample], winner: Sequence[Sample], sizes: tuple[int, int], noise: Noise, ceiling_gflops: float
) -> float:
    """The probability that one configuration is faster than another at N that are larger than those of their runs.

    Two estimates of the ratio of their rates are weighed by how far off each may be: what three terms say of each, and
    the ratio at the largest N that ran. What both would meet alike at the large N, as a hot processor, decides nothing.

    Args:
        sizes: the N of either, the rival's first.
    """
    rates, before = [], []
    for seed, (samples, N) in enumerate(zip((rival, winner), sizes, strict=True)):
        most_gflops = bound(samples, ceiling_gflops)
        steady, now, _ = drawn_rates(samples, N, most_gflops, noise, np.random.default_rng(seed))
        rates.append(np.log(steady))
        before.append(np.log(now))
    farther = math.log(max(sizes) / max(sample.N for sample in winner))
    ratios = np.stack([rates[0] - rates[1], before[0] - before[1]])
    grown = np.hypot(rates[0] - before[0], rates[1] - before[1])
    trust = 1 / np.maximum(np.stack([MISFIT_APART * grown, np.full(DRAWS, APART * farther)]), 1e-3) ** 2
    middle, sd = (trust * ratios).sum(axis=0) / trust.sum(axis=0), trust.sum(axis=0) ** -0.5
    return float(np.mean(middle + sd * np.random.default_rng(2).standard_normal(DRAWS) > 0))


FACT = "whole_memory"


def note_prediction(store: Store, study: str, noted: NotedPrediction) -> None:
    """Keep a prediction in place of an older one."""
    rivals = [asdict(rival) for rival in noted.rivals]
    store.note_host(study, {FACT: {**asdict(noted.full), "trial": noted.trial, "rivals": rivals}})


def prediction_of(study: Study) -> NotedPrediction | None:
    """Return what was predicted last; None where nothing was."""
    known = study.host.get(FACT)
    if not isinstance(known, Mapping):
        return None
    facts = dict(known)
    trial, rivals = int(facts.pop("trial")), facts.pop("rivals", [])
    told = tuple(Rival(**{**rival, "full": _extrapolation(rival["full"])}) for rival in rivals)
    return NotedPrediction(_extrapolation(facts), trial, told)


def _extrapolation(stored: Mapping[str, Any]) -> Extrapolation:
    """Read it back; one of an older hpltune may say that it can tell what is too far away."""
    tuples = {name: tuple(stored[name]) for name in ("coefficients", "gflops_range")}
    noted = Extrapolation(**{**stored, **tuples})
    return replace(noted, can_tell=noted.can_tell and not noted.too_far)
