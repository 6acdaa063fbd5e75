"""The best rate with each BLAS, and with each MPI where there are several, at its own best configuration."""

import math
from collections.abc import Sequence

from results.record import Study
from results.report.model import Figure, Series
from results.report.ranking_table import named_values
from results.stats.headline import disturbed_text
from results.stats.ranking import Ranked, varying

from ...words import counted
from ..ranking import interval_of

UNKNOWN = (math.nan, math.nan)
"""Ends of an interval that is not known."""


def libraries(study: Study, ranking: Sequence[Ranked]) -> Figure | None:
    """Draw a bar for each library, the best first, with an interval; None where all have the same.

    Args:
        ranking: best first.
    """
    bests: dict[str, Ranked] = {}
    several_mpis = len({entry.params.get("mpi") for entry in ranking}) > 1
    for entry in ranking:
        bests.setdefault(_library(entry, several_mpis=several_mpis), entry)
    if len(bests) < 2:
        return None
    ends, caption = _error_bars(study, list(bests.values()))
    names = [name for name in varying(list(bests.values())) if name not in {"blas", "mpi"}]
    bars = Series(
        "best of each",
        tuple(bests),
        tuple(entry.expected_gflops for entry in bests.values()),
        labels=tuple(_label(entry, names) for entry in bests.values()),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
    )
    if any(entry.disturbance is not None for entry in bests.values()):
        caption = f"{caption} Where all runs were disturbed, the rate is only a lower bound."
    what = "BLAS and MPI" if several_mpis else "BLAS"
    caption = f"{caption} Runs of each, from above: {', '.join(str(entry.runs) for entry in bests.values())}."
    return Figure(f"Each {what} at its best", what, "GFLOPS", (bars,), lying=True, caption=caption)


def _library(entry: Ranked, *, several_mpis: bool) -> str:
    blas = str(entry.params.get("blas", "BLAS not known"))
    return f"{blas}, {entry.params.get('mpi', 'MPI not known')}" if several_mpis else blas


def _label(entry: Ranked, names: Sequence[str]) -> str:
    disturbed = disturbed_text(entry)
    values = named_values(entry.params, names, " ")
    return ", ".join(filter(None, (values, counted(entry.runs, "run"), disturbed)))


def _error_bars(study: Study, entries: Sequence[Ranked]) -> tuple[list[tuple[float, float]], str]:
    """Return the ends of all bars, which mean the same of each library, and what they are.

    They are intervals of the rate. Where some library that ran several times has none, they are the slowest and the
    fastest run of each.
    """
    intervals = [interval_of(study, entry) for entry in entries]
    if all(known or entry.runs == 1 for known, entry in zip(intervals, entries, strict=True)) and any(intervals):
        return [known or UNKNOWN for known in intervals], "Error bars are 95 % intervals of the rate."
    if all(entry.runs == 1 for entry in entries):
        return [UNKNOWN] * len(entries), "Of each one run counts, so there are no error bars."
    ranges = [entry.range_gflops if entry.runs > 1 else UNKNOWN for entry in entries]
    return ranges, "Error bars are from the slowest to the fastest run; where one run counts there is none."
