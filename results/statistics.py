"""Medians, spreads and the ranking of configurations."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .record import Scalar, TrialRecord


@dataclass(frozen=True)
class Ranked:
    """One configuration and what its valid runs gave.

    Attributes:
        gflops: every valid run, in the order they were made.
        best_record_number: the run nearest to the median: the one whose files represent the configuration.
    """

    key: str
    params: Mapping[str, Scalar]
    gflops: tuple[float, ...]
    best_record_number: int

    @property
    def runs(self) -> int:
        """Valid runs."""
        return len(self.gflops)

    @property
    def median_gflops(self) -> float:
        """Median rate."""
        return statistics.median(self.gflops)

    @property
    def spread_percent(self) -> float | None:
        """Half the range of the runs in percent of the median; None with a single run."""
        if self.runs < 2:
            return None
        return 50.0 * (max(self.gflops) - min(self.gflops)) / self.median_gflops


def rank(records: Iterable[TrialRecord]) -> Sequence[Ranked]:
    """Configurations by the median of their valid runs, best first.

    A configuration seen once may owe its place to a lucky run, so all that were confirmed stand before all that were
    not, as soon as any was confirmed more often than the rest.
    """
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for record in records:
        if record.ranked:
            groups[record.key].append(record)
    ranked = [_summary(key, group) for key, group in groups.items()]
    confirmed_runs = max((entry.runs for entry in ranked), default=0)
    return sorted(ranked, key=lambda entry: (entry.runs < min(2, confirmed_runs), -entry.median_gflops))


def _summary(key: str, group: Sequence[TrialRecord]) -> Ranked:
    rates = tuple(record.gflops for record in group if record.gflops is not None)
    median = statistics.median(rates)
    nearest = min(group, key=lambda record: abs((record.gflops or 0.0) - median))
    return Ranked(key, nearest.params, rates, nearest.number)


def relative_sd(entries: Iterable[Ranked]) -> float | None:
    """Pooled relative standard deviation of repeated runs, as a part of 1; None where nothing was repeated."""
    squares, freedom = 0.0, 0
    for entry in entries:
        if entry.runs > 1:
            mean = statistics.fmean(entry.gflops)
            squares += sum((rate / mean - 1.0) ** 2 for rate in entry.gflops)
            freedom += entry.runs - 1
    return (squares / freedom) ** 0.5 if freedom else None
