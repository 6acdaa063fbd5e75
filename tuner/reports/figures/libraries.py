"""The best rate with each BLAS, and with each MPI where there are several, at its own best configuration."""

import math
from collections.abc import Sequence

from results.record import Study
from results.report.model import Figure, Series
from results.report.ranking_table import named_values
from results.stats.ranking import Ranked, varying

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
    ends = [_ends(study, entry) for entry in bests.values()]
    names = [name for name in varying(list(bests.values())) if name not in {"blas", "mpi"}]
    bars = Series(
        "best of each",
        tuple(bests),
        tuple(entry.expected_gflops for entry in bests.values()),
        labels=tuple(named_values(entry.params, names, " ") for entry in bests.values()),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
    )
    what = "BLAS and MPI" if several_mpis else "BLAS"
    return Figure(f"Each {what} at its best", what, "GFLOPS", (bars,), lying=True)


def _library(entry: Ranked, *, several_mpis: bool) -> str:
    blas = str(entry.params.get("blas", "BLAS not known"))
    return f"{blas}, {entry.params.get('mpi', 'MPI not known')}" if several_mpis else blas


def _ends(study: Study, entry: Ranked) -> tuple[float, float]:
    """Return the interval of the rate, or the slowest and the fastest run where none can be told."""
    return interval_of(study, entry) or (entry.range_gflops if entry.runs > 1 else UNKNOWN)
