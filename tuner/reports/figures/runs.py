"""All full runs of a study over time, in colours of what matters most, and how the best rate grew."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from types import MappingProxyType

from results.disturbance import Conditions
from results.record import Study, TrialRecord
from results.report.model import Figure, Series
from results.report.ranking_table import named_values
from results.stats.ranking import varying

from ...study.names import is_shootout
from ...words import counted
from ..story import full_runs, improvements

MOST = 500
"""Runs that are drawn, with all that were faster than those before them."""
MOST_VALUES = 6
"""Values that have a colour of their own; the runs of all others are grey."""
FIRST = (("blas", "kernel"), ("blas",), ("kernel",), ("grid",))
"""Parameters that give the colours where they vary, before any other one."""
LEAST = 0.1
"""Part of the runs that must have another value than most have."""
OTHER, BEST = "other", "best so far"
MINUTES, MACHINE = "minutes since the study began", "machine time of all trials in minutes"
NOTHING: Mapping[int, float] = MappingProxyType({})
Timed = Sequence[tuple[float, TrialRecord]]
"""Full runs by the time when they had ended."""


def runs_figure(
    study: Study,
    records: Sequence[TrialRecord],
    address_of: Callable[[TrialRecord], str] | None = None,
    spent_s: Mapping[int, float] = NOTHING,
    count: int = 0,
) -> Figure | None:
    """Draw a point for each full run, and the best rate so far as a line in steps; None where no run counts.

    Args:
        records: trials in the order they were begun; neither outputs nor commands are read.
        spent_s: seconds that all trials took until each of these, by its number, where some trials are left out.
        count: how many full runs there are, where some are left out.
        address_of: tells the page of a run, which a click on its point opens; None where there is none.
    """
    axis, timed = _timed(study, records, spent_s)
    if not timed:
        return None
    shown, whole = _fewer(timed), max(count, len(timed))
    names = varying([record for _, record in shown])
    by = _colours(names, [record for _, record in shown])
    groups = _groups(by, shown)
    rest = [name for name in names if name not in by]
    best = Series(BEST, *_best_so_far(shown), line=True, steps=True, behind=True)
    points = (
        _points(name, group, rest, address_of, behind=name == OTHER and len(groups) > MOST_VALUES)
        for name, group in groups.items()
    )
    caption = [
        "Each point is a full run; the line is the best so far.",
        f"Of {counted(whole, 'run')} {len(shown):,} are drawn, with all that were faster than those before."
        if len(shown) < whole
        else "",
    ]
    return Figure(
        "All full runs",
        axis,
        "GFLOPS",
        (best, *points),
        caption=" ".join(filter(None, caption)),
        legend=", ".join(by).replace("blas", "BLAS"),
    )


def growth_of_study(study: Study, records: Sequence[TrialRecord]) -> Figure | None:
    """Draw the best rate so far against machine time, of each library where each was searched on its own."""
    of_each: dict[str, list[TrialRecord]] = {}
    for record in records:
        library = str(record.params.get("blas", "")) if is_shootout(study) else ""
        of_each.setdefault(library or "all runs", []).append(record)
    return growth(of_each, "library" if is_shootout(study) else "")


def growth(of_each: Mapping[str, Sequence[TrialRecord]], legend: str, least: int = 1) -> Figure | None:
    """Draw the best rate so far of each of several against the machine time of its trials.

    Args:
        legend: what each of them is.
        least: how many must have a known time, or there is None.
    """
    timed = {name: _by_machine_time(records) for name, records in of_each.items()}
    series = tuple(Series(name, *_best_so_far(runs), line=True, steps=True) for name, runs in timed.items() if runs)
    title = f"How the best rate{f' of each {legend}' if legend else ''} grew"
    caption = "Each line is the best rate of a full run so far."
    drawn = Figure(title, MACHINE, "GFLOPS", series, in_text=not legend, legend=legend, caption=caption)
    return drawn if len(series) >= least else None


def _timed(study: Study, records: Sequence[TrialRecord], spent_s: Mapping[int, float]) -> tuple[str, Timed]:
    """Return what the axis of time is, and the full runs in their order on it.

    A clock tells it where one machine ran the study in one go; else it is the time that the trials took. Where not
    even that is known, the trials are counted.
    """
    ended = [(record.ended_at, record) for record in full_runs(records) if record.ended_at is not None]
    if not study.simulated and not study.imported and ended and all(record.session == 0 for record in records):
        began = min(study.created_at, *(record.started_at for record in records))
        timed = [((at - began).total_seconds() / 60, record) for at, record in ended]
        return MINUTES, sorted(timed, key=lambda one: one[0])
    if taken := _by_machine_time(records, spent_s):
        return MACHINE, taken
    return "trial", [(float(record.number), record) for record in full_runs(records)]


def _by_machine_time(records: Sequence[TrialRecord], spent_s: Mapping[int, float] = NOTHING) -> Timed:
    """Full runs by the minutes that they and all trials before them took; none where no time is known."""
    if not any(record.cost_s for record in records):
        return []
    spent = list(accumulate((record.cost_s or 0.0) / 60.0 for record in records))
    if spent_s:
        spent = [spent_s[record.number] / 60.0 for record in records]
    full = {record.number for record in full_runs(records)}
    return [(at, record) for at, record in zip(spent, records, strict=True) if record.number in full]


def _fewer(timed: Timed) -> Timed:
    """Leave out what would be too many points: every k-th run stays, and each improvement."""
    step = -(-len(timed) // MOST)
    better = {record.number for record in improvements([record for _, record in timed])}
    last = len(timed) - 1
    return [one for place, one in enumerate(timed) if place % step == 0 or place == last or one[1].number in better]


def _best_so_far(timed: Timed) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(at for at, _ in timed), tuple(accumulate((record.gflops or 0.0 for _, record in timed), max))


def _points(
    name: str, group: Timed, rest: Sequence[str], address_of: Callable[[TrialRecord], str] | None, *, behind: bool
) -> Series:
    return Series(
        name,
        tuple(at for at, _ in group),
        tuple(record.gflops or 0.0 for _, record in group),
        notes=tuple(_note(record, rest) for _, record in group),
        hollow=tuple(record.disturbed is not None for _, record in group),
        links=tuple(address_of(record) for _, record in group) if address_of else (),
        behind=behind,
    )


def _note(record: TrialRecord, names: Sequence[str]) -> str:
    """Say which trial a point is, how it was configured, and whether anything disturbed it."""
    said = {
        Conditions.DISTURBED: f"disturbed: {record.disturbed}",
        Conditions.UNKNOWN: "whether anything disturbed it is not known",
        Conditions.UNDISTURBED: "",
    }[record.conditions]
    told = filter(None, (f"trial {record.number}", named_values(record.params, names, ", "), said))
    return "; ".join(told)


def _colours(names: Sequence[str], runs: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Choose the parameters whose values have colours: what matters most of what varies; none where nothing does."""
    for chosen in FIRST:
        values = Counter(_value(chosen, record) for record in runs)
        few = len(chosen) == 1 or len(values) <= MOST_VALUES
        if set(chosen) <= set(names) and few and max(values.values()) <= (1 - LEAST) * len(runs):
            return chosen
    return max(((name,) for name in names if name != "N"), key=lambda one: _told_by(one, runs), default=())


def _value(names: Sequence[str], record: TrialRecord) -> str:
    return " ".join(str(record.params.get(name, "none")) for name in names) or "full runs"


def _told_by(names: Sequence[str], runs: Sequence[TrialRecord]) -> float:
    """Estimate the share of the differences of rates that the values of parameters tell, as the adjusted eta squared.

    Where nearly each run has a value of its own they tell nothing.
    """
    groups: dict[str, list[float]] = {}
    for record in runs:
        groups.setdefault(_value(names, record), []).append(record.gflops or 0.0)
    middle = fmean(rate for rates in groups.values() for rate in rates)
    whole = sum((rate - middle) ** 2 for rates in groups.values() for rate in rates)
    within = sum((rate - fmean(rates)) ** 2 for rates in groups.values() for rate in rates)
    free = len(runs) - len(groups)
    return 1 - within / whole * (len(runs) - 1) / free if free and whole else -1.0


def _groups(by: Sequence[str], timed: Timed) -> dict[str, Timed]:
    """Group runs by their values of parameters in the order in which these ran first; the rarest are one group."""
    counts = Counter(_value(by, record) for _, record in timed)
    kept = {value for value, _ in counts.most_common(MOST_VALUES - 1 if len(counts) > MOST_VALUES else MOST_VALUES)}
    groups: dict[str, list[tuple[float, TrialRecord]]] = {}
    for at, record in timed:
        value = _value(by, record)
        groups.setdefault(value if value in kept else OTHER, []).append((at, record))
    return {name: groups[name] for name in sorted(groups, key=lambda name: name == OTHER)}
