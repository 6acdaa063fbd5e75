"""Configurations beside each other: what the best has that the textbook has not, and trials by what varies."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from hpl.params import Scalar
from results.metrics import rate_text
from results.record import TrialRecord
from results.report.model import Column, Table, Wrap, outcome
from results.report.ranking_table import named_values

from ..units import duration
from .lists import FIRST, KILLED, own_params

if TYPE_CHECKING:
    from ..explain.variance import Effect

Percents = Mapping[tuple[str, Scalar], float]
"""By how much a value of a parameter is faster than the mean of all, by the model, where the runs tell values apart."""
HIDDEN = frozenset({"threshold", "swap_threshold"})
"""Parameters that tell nobody anything."""


def percents_of(effects: Iterable["Effect"]) -> Percents:
    """By how much values are faster than the mean of all, of the parameters whose values the runs tell apart."""
    return {(one.name, value.value): value.percent for one in effects if not one.tied for value in one.values}


def by_telling(names: Collection[str]) -> list[str]:
    """Sort names of parameters, what matters most first."""
    return sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


def varying_names(records: Sequence[TrialRecord]) -> list[str]:
    """The parameters of which these trials had several values, what matters most first."""
    known = [own_params(record) for record in records]
    several = [name for name in dict.fromkeys(chain(*known)) if len({one.get(name) for one in known}) > 1]
    return [name for name in by_telling(several) if name not in HIDDEN]


def configuration_table(
    best: TrialRecord,
    textbook: Mapping[str, Scalar],
    percents: Percents,
    varying: Collection[str],
) -> Table:
    """The configuration of a trial, marked where it is not that of the textbook, with what each difference brings.

    Args:
        textbook: the configuration of HPL's documented advice on this machine; empty where it is not known.
        varying: parameters that had several values; the others stand below the table.
    """
    names = [name for name in by_telling(best.params) if name not in HIDDEN]
    other = {name: textbook.get(name, best.params[name]) for name in names if name != "N"}
    differs = [name for name in other if str(other[name]) != str(best.params[name])]
    shown = [name for name in names if name in varying or name in differs] or names
    brought = {name: _brought(percents, name, best.params[name], other[name]) for name in differs}
    columns: list[Column] = [Column("parameter", words=True), Column("this run", words=True, wrap=Wrap.ANYWHERE)]
    rows: list[tuple[str, ...]] = [(name, f"{own_params(best)[name]}") for name in shown]
    if differs:
        columns.append(Column("textbook", words=True, wrap=Wrap.ANYWHERE))
        rows = [(*row, f"{other[row[0]]}" if row[0] in differs else "") for row in rows]
    if any(brought.values()):
        columns.append(Column("brings", words=True, wrap=Wrap.NEVER))
        rows = [(*row, brought.get(row[0], "")) for row in rows]
    rest = named_values(best.params, [name for name in names if name not in shown], ", ")
    told = (
        "Marked: differs from the textbook." if differs else "",
        "Brings: by the model, changed alone, on average, where the runs tell it." if any(brought.values()) else "",
        f"The same in all runs: {rest}." if rest else "",
    )
    marked = frozenset((shown.index(name), 1) for name in differs)
    return Table(
        f"Its configuration: trial {best.number}",
        tuple(columns),
        tuple(rows),
        marked=marked,
        caption=" ".join(filter(None, told)),
    )


def _brought(percents: Percents, name: str, value: Scalar, other: Scalar) -> str:
    own, textbook = percents.get((name, value)), percents.get((name, other))
    return "" if own is None or textbook is None else f"{100 * ((100 + own) / (100 + textbook) - 1):+.1f} %"


def trials_by_value(
    records: Sequence[TrialRecord], best: TrialRecord | None, links: Sequence[str], killed: Collection[int] = ()
) -> Table:
    """A row for each trial, and a column for each parameter that varies; what differs from the best is marked."""
    names, known = varying_names(records), [own_params(record) for record in records]
    head: tuple[Column, ...] = (
        Column("trial"),
        Column("GFLOPS", wrap=Wrap.NEVER),
        Column("time", wrap=Wrap.NEVER),
    )
    columns = (
        *head,
        *(Column(name, words=True) for name in names),
        Column("about", words=True, wrap=Wrap.ANYWHERE),
    )
    rows = [
        (
            str(record.number),
            rate_text(record.gflops) if record.ranked and record.gflops else "",
            "" if record.time_s is None else duration(record.time_s),
            *(f"{params.get(name, '')}" for name in names),
            _about(record, killed),
        )
        for record, params in zip(records, known, strict=True)
    ]
    first = own_params(best) if best else {}
    marked = frozenset(
        (row, column)
        for row, params in enumerate(known)
        for column, name in enumerate(names, start=len(head))
        if first and params.get(name) != first.get(name)
    )
    bold = frozenset(row for row, record in enumerate(records) if best and record.number == best.number)
    same = records[0].params if records else {}
    alike = named_values(same, [name for name in by_telling(same) if name not in {*names, *HIDDEN}], ", ")
    caption = f"The same in all: {alike}." if alike else ""
    return Table("", columns, tuple(rows), bold=bold, marked=marked, links=tuple(links), caption=caption)


def _about(record: TrialRecord, killed: Collection[int]) -> str:
    """What else is to be known of a trial than its rate: its kind, whether it was disturbed, or why it failed."""
    told = KILLED if record.number in killed else outcome(record).strip()
    own = f"{rate_text(record.gflops)} GFLOPS" if record.ranked and record.gflops else ""
    said = told.removeprefix(own).strip(" ,")
    return ", ".join(filter(None, [str(record.kind) if record.kind.value not in ("search", "small") else "", said]))
