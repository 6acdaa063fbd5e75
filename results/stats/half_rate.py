"""N½, the N at which a configuration has half of its best rate."""

from collections.abc import Sequence
from itertools import pairwise

from ..record import Kind, TrialRecord

UNFINISHED = frozenset({Kind.PREFIX, Kind.GIVEN_UP})
"""Kinds of runs that ended before the whole matrix was factorised."""


def half_rate_n(best: TrialRecord, records: Sequence[TrialRecord]) -> float | None:
    """Interpolate N½ between two sizes at which the configuration of the best run ran.

    None where no run of it was slower than half of the best. Small runs count, as those are what it takes.
    Of several runs at one N the fastest counts.
    """
    alike = _but_size(best)
    points: dict[int, float] = {}
    for record in records:
        if record.kind not in UNFINISHED and record.ranked and record.hpl is not None and _but_size(record) == alike:
            points[record.hpl.N] = max(record.gflops or 0.0, points.get(record.hpl.N, 0.0))
    half = (best.gflops or 0.0) / 2
    for low, high in pairwise(sorted(points)):
        if points[low] <= half < points[high]:
            return low + (high - low) * (half - points[low]) / (points[high] - points[low])
    return None


def _but_size(record: TrialRecord) -> dict[str, object]:
    """Return the parameters of a trial without N."""
    return {name: value for name, value in record.params.items() if name != "N"}
