"""Medians, spreads and the ranking of configurations."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hpl.output import SHORTEST_S
from hpl.params import Scalar

from ..columns import COLUMNS
from ..disturbance import LEAST_GOT, Conditions, Disturbance
from ..metrics import measured_watts
from ..record import SMALLER_RUNS, Kind, TrialRecord, TrialState
from .disturbed_runs import undisturbed

LONG_ENOUGH = 10
"""Times the shortest time that HPL's clock can tell, which the mean of the runs at an N has to reach to doubt one."""
_FIRST = ("blas", "kernel", "layout", "grid")


class Time(NamedTuple):
    """The time of a run in a study: its session, and in it the round of the confirmation, 0 for the search."""

    sitting: int
    turn: int


@dataclass(frozen=True)
class Ranked:
    """A configuration with the results of its valid runs.

    Attributes:
        key: identity of the configuration.
        params: the configuration in the words of the space.
        gflops: the rates of all runs that count, at least one, in their order: of the valid ones those that are known
            to be undisturbed, or all where none is.
        best_record_number: the run nearest to the median, whose files represent the configuration.
        failed_runs: how many runs do not count: crashed, timed out, or with a residual that FAILED.
        hosts: on how many hosts it ran; 0 if that is not known.
        believed_gflops: its posterior rate from the runs of all configurations; None if the noise is not known.
        times: the time of each valid run; empty if that is not known.
        interval_gflops: its usual rate is between these with 95 % probability; None if that cannot be told.
        left_out: valid runs that were disturbed and do not count, because others are known to be undisturbed;
            `left_unknown` are those that do not count because nothing is known of them.
        disturbance: what disturbed the fastest of the runs that count and were disturbed; then each rate is at least
            what was measured, and nothing more is known. None where no run that counts was.
        unclear: HPL's clock cannot tell the rate of any of its runs, so that it stands behind the others.
        watts: by the source that measured it, the median power of its runs.
        watts_per_gflops: the same of the power of each run for its own rate.
        unknown: runs that count though it is not known whether something disturbed them.
    """

    key: str
    params: Mapping[str, Scalar]
    gflops: tuple[float, ...]
    best_record_number: int
    failed_runs: int = 0
    hosts: int = 0
    believed_gflops: float | None = field(default=None, compare=False)
    times: tuple[Time, ...] = ()
    interval_gflops: tuple[float, float] | None = field(default=None, compare=False)
    unclear: bool = False
    watts: Mapping[str, float] = field(default_factory=dict, compare=False)
    watts_per_gflops: Mapping[str, float] = field(default_factory=dict, compare=False)
    left_out: int = 0
    disturbance: Disturbance | None = None
    left_unknown: int = 0
    unknown: int = 0

    @property
    def conditions(self) -> Conditions:
        """Whether its runs that count were disturbed; not known where that is so of one of them."""
        if self.unknown:
            return Conditions.UNKNOWN
        return Conditions.UNDISTURBED if self.disturbance is None else Conditions.DISTURBED

    @property
    def runs(self) -> int:
        """The number of runs that count."""
        return len(self.gflops)

    @property
    def median_gflops(self) -> float:
        """Median rate in GFLOPS."""
        return statistics.median(self.gflops)

    @property
    def expected_gflops(self) -> float:
        """The expected rate of one more run, which is shown and by which it is ranked.

        Where a run that counts was disturbed it is the least that is expected: the fastest of them.
        """
        if self.disturbance is not None:
            return max(self.gflops)
        return self.median_gflops if self.believed_gflops is None else self.believed_gflops

    @property
    def range_gflops(self) -> tuple[float, float]:
        """The slowest and fastest run in GFLOPS."""
        return min(self.gflops), max(self.gflops)

    @property
    def repeats(self) -> tuple[float, ...]:
        """The rates that show by how much runs differ by themselves: none of one run, and of disturbed ones."""
        return self.gflops if self.runs > 1 and self.disturbance is None else ()

    @property
    def may_reach_gflops(self) -> float:
        """The most that one more run may give by what is known of disturbances; else what is expected."""
        if self.unknown:
            return self.expected_gflops / LEAST_GOT
        fastest = self.expected_gflops
        return fastest if self.disturbance is None else self.disturbance.most_gflops(fastest)

    @property
    def spread_percent(self) -> float | None:
        """Half the range of the runs in percent of the median; None with a single run."""
        if self.runs < 2:
            return None
        low, high = self.range_gflops
        return 50.0 * (high - low) / self.median_gflops


def rank(records: Iterable[TrialRecord]) -> Sequence[Ranked]:
    """Rank configurations by the median of their valid runs, best first.

    A configuration with one run may owe its rank to luck; `confidence.rerank_by_posterior` corrects that. Runs that are
    not `ranked`, pilots and extrapolations never count, nor one that HPL's clock cannot tell beside others, and a
    configuration without a valid run does not appear. Of a configuration only undisturbed runs count, where one is
    known. A run of a confirmation that follows a disturbed one of its configuration at once is of the same round.
    """
    records = list(records)
    counting = {id(record) for record in undisturbed(records)}
    left_out = Counter[tuple[str, Conditions]]()
    groups: dict[str, list[tuple[TrialRecord, Time]]] = defaultdict(list)
    failures: dict[str, int] = defaultdict(int)
    turns, before = Counter[tuple[str, int]](), ("", -1)
    for record in records:
        if record.kind in SMALLER_RUNS:
            continue
        confirms = record.kind is Kind.CONFIRMATION
        turn_of = record.key, record.session
        turns[turn_of] += confirms and before != turn_of
        if confirms:
            before = turn_of if record.disturbed is not None else ("", -1)
        if record.ranked:
            if id(record) not in counting:
                left_out[record.key, record.conditions] += 1
                continue
            turn = turns[record.key, record.session] if confirms else 0
            groups[record.key].append((record, Time(record.session, turn)))
        failures[record.key] += record.state is TrialState.FAILED
    unclear = unclear_runs(record for group in groups.values() for record, _ in group)
    for key, group in groups.items():
        groups[key] = [(run, time) for run, time in group if run.number not in unclear] or group
    ranked = [_summary(key, group, failures[key], unclear, left_out) for key, group in groups.items()]
    return sorted(ranked, key=lambda entry: (entry.unclear, -entry.expected_gflops))


def n_of_run(record: TrialRecord) -> int | None:
    """Return the N of a trial; None where it is not known."""
    N = record.hpl.N if record.hpl else record.params.get("N")
    return N if isinstance(N, int) else None


def is_full_run(record: TrialRecord) -> bool:
    """Whether a trial is a full run whose rate counts."""
    return record.ranked and record.kind not in SMALLER_RUNS


def unclear_runs(records: Iterable[TrialRecord]) -> frozenset[int]:
    """Return the numbers of full runs that HPL's clock cannot tell, though runs at their N take long enough as a rule.

    Where all runs at an N are short, N is too small to tell any rate well, but they keep their order: of two at one N
    the faster one is the one that took less time.
    """
    runs = [record for record in records if is_full_run(record) and record.time_s is not None]
    short = [record for record in runs if record.too_short]
    times: dict[int | None, list[float]] = defaultdict(list)
    for record in runs if short else []:
        times[n_of_run(record)].append(record.time_s or 0.0)
    return frozenset(run.number for run in short if statistics.fmean(times[n_of_run(run)]) >= LONG_ENOUGH * SHORTEST_S)


def on_the_hosts_left(records: Sequence[TrialRecord]) -> Sequence[TrialRecord]:
    """Drop results of a cluster that was larger or smaller than at the last one, as it has lost or got hosts since."""
    counts = {
        record.number: hosts_of(record) + int(record.params.get("nodes_dropped", 0))
        for record in records
        if record.ranked and hosts_of(record)
    }
    last = counts[max(counts)] if counts else 0
    return [record for record in records if counts.get(record.number, last) == last]


def hosts_of(record: TrialRecord) -> int:
    """Return on how many hosts a trial ran; 0 if that is not known, and where no machine ran it."""
    return len(record.observed.hosts) if record.observed and not record.simulated else 0


def _summary(
    key: str,
    group: Sequence[tuple[TrialRecord, Time]],
    failed_runs: int,
    unclear: frozenset[int],
    left_out: Mapping[tuple[str, Conditions], int],
) -> Ranked:
    rates = tuple(record.gflops for record, _ in group if record.gflops is not None)
    powers = [measured_watts(record.measurements) for record, _ in group]
    median = statistics.median(rates)
    nearest = min((record for record, _ in group), key=lambda record: abs((record.gflops or 0.0) - median))
    disturbed = [record for record, _ in group if record.disturbed is not None]
    fastest = max(disturbed, key=lambda record: record.gflops or 0.0, default=nearest)
    return Ranked(
        key=key,
        params=nearest.params,
        gflops=rates,
        best_record_number=nearest.number,
        failed_runs=failed_runs,
        hosts=hosts_of(nearest),
        times=tuple(time for _, time in group),
        unclear=all(record.number in unclear for record, _ in group),
        watts=_medians(powers),
        watts_per_gflops=_medians(
            [{name: one / gflops for name, one in power.items()} for power, gflops in zip(powers, rates, strict=True)]
        ),
        left_out=left_out[key, Conditions.DISTURBED],
        left_unknown=left_out[key, Conditions.UNKNOWN],
        disturbance=fastest.disturbed,
        unknown=sum(record.conditions is Conditions.UNKNOWN for record, _ in group),
    )


def _medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return by source the median of the runs of which it told."""
    return {
        name: statistics.median(run[name] for run in runs if name in run) for name in {n for run in runs for n in run}
    }


def relative_sd(entries: Iterable[Ranked]) -> float | None:
    """Return the pooled relative standard deviation of repeated runs, as a part of 1; None if none ran twice.

    Each configuration gives the squared deviations of its runs from its own mean, relative to that mean, and one degree
    of freedom less than its number of runs.
    """
    squares, freedom = 0.0, 0
    for entry in entries:
        if entry.repeats:
            mean = statistics.fmean(entry.repeats)
            squares += sum((rate / mean - 1.0) ** 2 for rate in entry.repeats)
            freedom += entry.runs - 1
    return (squares / freedom) ** 0.5 if freedom else None


def varying(ranking: Sequence[Ranked | TrialRecord]) -> list[str]:
    """Names of the parameters that are not the same in all entries, in the order of the flat columns."""
    names = {name for entry in ranking for name in entry.params}
    differing = [name for name in names if len({entry.params.get(name) for entry in ranking}) > 1]
    order = {name: place for place, name in enumerate(dict.fromkeys((*_FIRST, *COLUMNS)))}
    return sorted(differing, key=lambda name: (order.get(name, len(order)), name))
