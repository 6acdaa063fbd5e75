"""How sure it is that the first of a ranking is the fastest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .statistics import Ranked, relative_sd

DRAWS = 20_000
TOLD_APART = 0.95
"""Probability from which one configuration counts as faster than another."""

NAMED = 4
"""Places that cannot be told apart are named up to so many."""


@dataclass(frozen=True)
class Standing:
    """The first of a ranking against the others.

    Attributes:
        confidence: probability that it is the fastest of all, 0 to 1.
        equals: places in the ranking, from 1, of those that cannot be told from it, its own among them.
    """

    confidence: float
    equals: tuple[int, ...]


def standing(ranking: Sequence[Ranked]) -> Standing | None:
    """Judge a ranking, or None where there is nothing to compare, or nothing was repeated and the noise is not known.

    The logarithms of the rates of all configurations are taken to scatter alike, with the pooled variance of repeated
    runs, which is itself uncertain (scaled inverse chi-squared); means are drawn from what the runs leave possible.
    """
    freedom = sum(entry.runs - 1 for entry in ranking)
    sd = relative_sd(ranking)
    if len(ranking) < 2 or freedom < 1 or sd is None:
        return None
    chance = np.random.default_rng(0)
    means = np.array([np.mean([math.log(rate) for rate in entry.gflops]) for entry in ranking])
    runs = np.array([entry.runs for entry in ranking])
    spread = max(sd, 1e-9) * np.sqrt(freedom / chance.chisquare(freedom, DRAWS))
    drawn = means + spread[:, None] / np.sqrt(runs) * chance.standard_normal((DRAWS, len(ranking)))
    first = drawn[:, 0]
    ahead = (first[:, None] >= drawn).mean(axis=0)
    equals = tuple(place for place, share in enumerate(ahead, start=1) if place == 1 or share < TOLD_APART)
    return Standing(float((drawn.argmax(axis=1) == 0).mean()), equals)


def sentence(found: Standing | None, best: str = "the fastest") -> str:
    """What to tell of it.

    Args:
        best: what the first of the ranking is to be.
    """
    if found is None:
        return "Nothing was run twice, so it cannot be told how sure this is: --confirm 2 repeats the best."
    if len(found.equals) == 1:
        return f"The first is {best} with {found.confidence:.0%}."
    return (
        f"{_places(found.equals)} cannot be told apart by these runs (the first is {best} with {found.confidence:.0%})."
    )


def _places(equals: Sequence[int]) -> str:
    count = len(equals)
    if count > NAMED:
        return f"The first {count}" if equals[-1] == count else f"The first and {count - 1} others"
    return f"{', '.join(map(str, equals[:-1]))} and {equals[-1]}"
