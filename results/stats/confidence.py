"""Ranks configurations by their posterior, and computes the confidence that the first is the fastest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .belief import posterior_rates
from .levels import drift_corrected
from .ranking import Ranked
from .unfit import MOST_NOISE, unfit, untold_by_disturbance

DISTINCT = 0.95
"""Probability from which a configuration counts as faster than another."""

REACH = 0.25
"""Part of its rate that a run may lose unseen: a configuration that ran once and is within it may be the fastest."""
ENOUGH = 30
"""Repeated runs that tell how often a run is slowed: where n were not, it is less than 3 / n with a probability of 95 %
(J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983)."""
CAPPED = 0.89
"""Most that is claimed before: what claims more would be wrong in too many studies (benchmarks/covered.py)."""
MOST_NAMED = 4
"""Most ranks of a tie that a sentence names."""


@dataclass(frozen=True)
class Standing:
    """The confidence in the first of a ranking.

    Attributes:
        confidence: probability that it is the fastest of all, from 0 to 1.
        equals: ranks, from 1, of the configurations in a tie with it, its own included.
        ahead: for each rank the probability that the first is faster; the value of the first itself has no meaning.
        unfit: why none of these probabilities can be told, in half a sentence; "" where they can.
        capped: why the confidence may not be higher, in half a sentence; "" where nothing limits it.
    """

    confidence: float
    equals: tuple[int, ...]
    ahead: tuple[float, ...] = ()
    unfit: str = ""
    capped: str = ""


def rerank_by_posterior(entries: Sequence[Ranked], shown: float = 0.0) -> list[Ranked]:
    """Sort configurations by their posterior rate, best first; by their medians if none ran twice.

    Where the posterior is more than MOST_NOISE above the median of a configuration's own runs the median stands: most
    of its runs speak against. One of which nobody knows whether something disturbed it has no interval. One whose runs
    were all disturbed stands where its fastest run puts it, and has no posterior: its rate is at least that, and it
    tells nothing of the noise and of the others.

    Args:
        shown: noise of the machine from other runs, as in `noise.noise_of`.
    """
    level = drift_corrected(entries, shown)
    quiet = [place for place, entry in enumerate(entries) if entry.disturbance is None]
    belief = posterior_rates([level[place].gflops for place in quiet], shown)
    rates, intervals = ({}, {}) if belief is None else (belief.medians(), belief.intervals())
    ranking = [replace(entry, believed_gflops=None, interval_gflops=None) for entry in entries]
    for number, place in enumerate(quiet if belief else ()):
        entry, median = entries[place], level[place].median_gflops
        believed = rates.get(number, median)
        ranking[place] = replace(
            entry,
            believed_gflops=median if believed > (1 + MOST_NOISE) * median else believed,
            interval_gflops=None if entry.unknown else intervals.get(number),
        )
    return sorted(ranking, key=lambda entry: (entry.unclear, -entry.expected_gflops))


def standing(ranking: Sequence[Ranked], shown: float = 0.0, moved: float = 0.0) -> Standing | None:
    """Judge a ranking; None if it has fewer than two entries, or if the noise is not known because none ran twice.

    The probabilities are those of the posterior. Hardly ever is another entry more probably the fastest than the first
    of `rerank_by_posterior`.

    Args:
        shown: as in `rerank_by_posterior`.
        moved: relative change of the machine that its reference configuration showed during the search.
    """
    level = drift_corrected(ranking, shown)
    belief = posterior_rates([one.gflops if one.disturbance is None else (max(one.gflops),) for one in level], shown)
    if len(ranking) < 2 or belief is None:
        return None
    ahead, confidence = belief.ahead(0), belief.fastest(0)
    unsure = [place for place, share in ahead.items() if place and share < DISTINCT]
    once = _may_be_slowed(level)
    shares = tuple(min(ahead.get(place, 1.0), CAPPED if place in once else 1.0) for place in range(len(ranking)))
    doubt = unfit(ranking, shown, moved) or untold_by_disturbance(ranking)
    capped = ""
    if once and confidence > CAPPED:
        capped = f"{len(once)} of {len(ranking)} ran once and may have been slowed, which too few repeats rule out"
        confidence = CAPPED
    return Standing(confidence, (1, *(place + 1 for place in unsure)), shares, doubt, capped)


def _may_be_slowed(level: Sequence[Ranked]) -> list[int]:
    """Return the places of configurations that may be the fastest if their only run was slowed by something unseen."""
    if sum(len(entry.repeats) for entry in level) >= ENOUGH:
        return []
    least = (1 - REACH) * level[0].expected_gflops
    return [place for place, entry in enumerate(level) if place and entry.runs == 1 and entry.gflops[0] > least]


def sentence(standing: Standing | None, best: str = "the fastest") -> str:
    """Write the sentence about the confidence in a ranking.

    Args:
        best: the phrase for the first of the ranking, such as "the fastest".
    """
    if standing is None:
        return "No configuration ran twice, so the confidence is unknown: ⟦confirm⟧ 2 repeats the best."
    if standing.unfit:
        return f"How sure it is that no. 1 is {best} cannot be told: {standing.unfit}."
    if len(standing.equals) == 1:
        said = f"No. 1 is {best} with {probability_text(standing.confidence)} confidence"
        return f"{said} at most: {standing.capped}." if standing.capped else f"{said}."
    return f"{_ranks(standing.equals)} are a tie; the chance that no. 1 is {best} is {100 * standing.confidence:.0f} %."


def probability_text(confidence: float) -> str:
    """Write a probability in percent, which is never all."""
    return "more than 99 %" if confidence > 0.99 else f"{100 * confidence:.0f} %"


def _ranks(equals: Sequence[int]) -> str:
    count = len(equals)
    if count > MOST_NAMED:
        return f"The top {count}" if equals[-1] == count else f"No. 1 and {count - 1} others"
    return f"Nos. {', '.join(map(str, equals[:-1]))} and {equals[-1]}"
