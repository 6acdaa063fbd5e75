"""The order of configurations, and how sure it is that the first is the fastest: both of what `belief` says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .belief import believed
from .levels import drift_corrected
from .ranking import Ranked

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
        ahead: for each place the probability that the first is faster than it; of the first itself nothing is said.
    """

    confidence: float
    equals: tuple[int, ...]
    ahead: tuple[float, ...] = ()


def rerank_by_posterior(entries: Sequence[Ranked], shown: float = 0.0) -> list[Ranked]:
    """Configurations with the rate that is believed of each, best first; by their medians where nothing ran twice.

    Args:
        shown: noise that the machine has shown otherwise, as in `noise.noise_of`.
    """
    level = drift_corrected(entries, shown)
    belief = believed([entry.gflops for entry in level], shown)
    rates = {} if belief is None else belief.medians()
    found = [
        replace(entry, believed_gflops=None if belief is None else rates.get(place, level[place].median_gflops))
        for place, entry in enumerate(entries)
    ]
    return sorted(found, key=lambda entry: -entry.expected_gflops)


def standing(ranking: Sequence[Ranked], shown: float = 0.0) -> Standing | None:
    """Judge a ranking, or None where there is nothing to compare, or nothing was repeated and the noise is not known.

    The probabilities are of what is believed of each; hardly ever has another place a higher one than the first of
    `rerank_by_posterior`.

    Args:
        shown: as there.
    """
    belief = believed([entry.gflops for entry in drift_corrected(ranking, shown)], shown)
    if len(ranking) < 2 or belief is None:
        return None
    ahead = belief.ahead(0)
    unsure = [place for place, share in ahead.items() if place and share < TOLD_APART]
    shares = tuple(ahead.get(place, 1.0) for place in range(len(ranking)))
    return Standing(belief.fastest(0), (1, *(place + 1 for place in unsure)), shares)


def sentence(found: Standing | None, best: str = "the fastest") -> str:
    """What to tell of it.

    Args:
        best: what the first of the ranking is to be.
    """
    if found is None:
        return "No configuration ran twice, so the confidence is unknown: --confirm 2 repeats the best."
    if len(found.equals) == 1:
        return f"No. 1 is {best} with {100 * found.confidence:.0f} % confidence."
    return f"{_places(found.equals)} are a tie; the chance that no. 1 is {best} is {100 * found.confidence:.0f} %."


def _places(equals: Sequence[int]) -> str:
    count = len(equals)
    if count > NAMED:
        return f"The top {count}" if equals[-1] == count else f"No. 1 and {count - 1} others"
    return f"Nos. {', '.join(map(str, equals[:-1]))} and {equals[-1]}"
