"""A study as text for people and other programs: CSV, JSON lines, Markdown, HPL.dat."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from hpl.dat import HplDat, render

from ..errors import ResultsError
from ..flat import COLUMNS, Placed, flat, more_columns
from ..plain import unicode_text
from ..record import TrialRecord
from ..stats.ranking import Ranked
from ..store.rows import Row
from .json_lines import json_line, to_json_lines

__all__ = ["csv_parts", "first_columns", "flat", "json_line", "to_csv", "to_hpl_dat", "to_json_lines", "to_markdown"]

_HEADS = {"percent_of_peak": "% of peak", "usd_per_gflops": "USD/GFLOPS", "mflops_per_watt": "MFLOPS/W"}
_FIRST = ("blas", "kernel", "layout", "grid")
_NUMBER = list(COLUMNS).index("number")
_PLACED = tuple(field.name for field in fields(Placed))
NOWHERE: Mapping[int, Placed] = MappingProxyType({})
LINES = 500
"""Of a part."""


def to_csv(records: Iterable[TrialRecord], placed: Mapping[int, Placed] = NOWHERE) -> str:
    """Comma-separated values with a header line; what is missing is empty.

    Args:
        placed: where trials stand in their study, by their numbers.
    """
    known = list(records)
    rows = ((list(flat(record).values()), record.params) for record in known)
    return "".join(csv_parts(more_columns(known), rows, placed))


def csv_parts(more: Sequence[str], rows: Iterable[Row], placed: Mapping[int, Placed] = NOWHERE) -> Iterator[str]:
    """The same of rows that come one after the other, in parts of some lines.

    Args:
        more: names of the parameters that have a column behind the others.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, *more))
    for number, (cells, params) in enumerate(rows, start=1):
        place = placed.get(cells[_NUMBER])  # type: ignore[arg-type]  # a trial's number is one
        standing = cells if place is None else [*cells[: -len(_PLACED)], *(getattr(place, name) for name in _PLACED)]
        writer.writerow([*standing, *(params.get(name) for name in more)])
        if number % LINES == 0:
            yield unicode_text(text.getvalue())
            text.seek(0)
            text.truncate()
    yield unicode_text(text.getvalue())


def to_hpl_dat(record: TrialRecord) -> str:
    """The HPL.dat of a trial: the file it ran where that was stored, else one that asks for the same.

    Raises:
        ResultsError: the trial never got as far as an HPL.dat.
    """
    if record.hpl_dat:
        return record.hpl_dat
    if record.hpl is None:
        raise ResultsError(
            f"trial {record.number} of study {record.study} has no HPL.dat: {record.reason or 'it was never planned'}"
        )
    return render(HplDat.of(record.hpl))


def to_markdown(
    ranking: Sequence[Ranked], merits: Sequence[Mapping[str, float]] = (), below: Sequence[str] = ()
) -> str:
    """The configurations as a Markdown table, best first; only the parameters that differ have a column.

    Args:
        ranking: best first.
        merits: of each configuration the figures of `metrics.Merit` that are known, by name; nothing leaves them out.
        below: sentences that follow the table, each a paragraph.
    """
    names = varying(ranking)
    known = [name for name in _HEADS if merits and name in merits[0]]
    columns = first_columns(ranking)
    columns |= {_HEADS[name]: [f"{merit[name]:.2f}" for merit in merits] for name in known}
    columns |= {name: [str(entry.params.get(name, "")) for entry in ranking] for name in names}
    lines = [_line(columns), "|" + "---|" * len(columns), *map(_line, zip(*columns.values(), strict=True))]
    return "\n".join([*lines, *(f"\n{sentence}" for sentence in below)]) + "\n"


def first_columns(ranking: Sequence[Ranked]) -> dict[str, list[str]]:
    """What tables of a ranking begin with, cells by head; how many runs failed only where any did."""
    spreads = [entry.spread_percent for entry in ranking]
    columns = {
        "rank": [str(place) for place in range(1, len(ranking) + 1)],
        "GFLOPS": [f"{entry.expected_gflops:.2f}" for entry in ranking],
        "spread %": ["" if spread is None else f"{spread:.1f}" for spread in spreads],
        "runs": [str(entry.runs) for entry in ranking],
        "failed": [str(entry.failed_runs) for entry in ranking],
    }
    if not any(entry.failed_runs for entry in ranking):
        del columns["failed"]
    return columns


def varying(ranking: Sequence[Ranked]) -> list[str]:
    """Names of the parameters that are not the same in all entries, in the order of the flat columns."""
    names = {name for entry in ranking for name in entry.params}
    differing = [name for name in names if len({entry.params.get(name) for entry in ranking}) > 1]
    order = {name: place for place, name in enumerate(dict.fromkeys((*_FIRST, *COLUMNS)))}
    return sorted(differing, key=lambda name: (order.get(name, len(order)), name))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
