"""What is predicted of the whole memory, of the configuration that was the fastest in turn at a larger N."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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


TEXTBOOK = "the textbook"


@dataclass(frozen=True)
class Rival:
    """A configuration that ran in turn with the one of which the whole memory is predicted.

    Attributes:
        trial: its first run in turn.
        called: its name, as "the textbook" or "NB=256".
        gflops: the median of its runs in turn.
        faster: the probability that it is faster than the other at the whole memory; None where the runs cannot tell.
    """

    trial: int
    called: str
    gflops: float
    faster: float | None


@dataclass(frozen=True)
class NotedPrediction:
    """A prediction, with the trial that stands for the configuration it is made for, and those it ran in turn with.

    Attributes:
        called: its name beside the rivals.
        N: at which they ran in turn; None where they did not.
        gflops: the median of its runs in turn; 0 without any.
        doubt: the sentence that some of these runs were disturbed, or may have been; "" where all were undisturbed.
    """

    full: Extrapolation
    trial: int
    called: str = ""
    N: int | None = None
    gflops: float = 0.0
    rivals: tuple[Rival, ...] = ()
    doubt: str = ""

    @property
    def at_whole_memory(self) -> str:
        """What a run with the whole memory is expected to give, as a sentence."""
        return f"The whole memory holds N={self.full.N}: {self.full.sentence}."

    @property
    def in_turn(self) -> str:
        """What was measured in turn, as a sentence; "" where nothing was."""
        if self.N is None or not self.rivals:
            return ""
        of = {rival.called: rival.gflops for rival in self.rivals}
        against = ""
        if textbook_gflops := of.pop(TEXTBOOK, 0.0):
            percent = 100 * (self.gflops / textbook_gflops - 1)
            side = "more" if percent >= 0 else "less"
            against = f", {abs(percent):.1f} % {side} than the textbook ({four_digits(textbook_gflops)})"
        others = "".join(f"; {called} gave {four_digits(gflops)}" for called, gflops in of.items())
        best = max(rival.gflops for rival in self.rivals) <= self.gflops
        why = "" if best else f", because the rate of {self.called} grows more with N"
        told = f"In turn at N={self.N}, {self.called} gave {four_digits(self.gflops)} GFLOPS{against}{others}"
        return " ".join(filter(None, (f"{told}. HPL-full.dat has the values of {self.called}{why}.", self.doubt)))

    def to_json(self) -> dict[str, Any]:
        """What is told of it, as JSON can hold it."""
        rivals = [asdict(rival) for rival in self.rivals]
        turn = {"N": self.N, "called": self.called, "gflops": self.gflops, "rivals": rivals, "sentence": self.in_turn}
        return {**self.full.to_json(), "trial": self.trial, "in_turn": turn if self.N else None}


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
    store.note_host(study, {FACT: asdict(noted)})


def prediction_of(study: Study) -> NotedPrediction | None:
    """Return what was predicted last; None where nothing was, or by an older hpltune."""
    known = study.host.get(FACT)
    if not isinstance(known, Mapping) or "full" not in known:
        return None
    rivals = tuple(Rival(**rival) for rival in known["rivals"])
    return NotedPrediction(**{**known, "full": _extrapolation(known["full"]), "rivals": rivals})


def _extrapolation(stored: Mapping[str, Any]) -> Extrapolation:
    tuples = {name: tuple(stored[name]) for name in ("coefficients", "gflops_range")}
    return Extrapolation(**{**stored, **tuples})
