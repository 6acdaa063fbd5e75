"""A study as text for people and other programs: CSV, JSON lines, Markdown, HPL.dat."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from hpl.dat import HplDat, render

from .errors import ResultsError
from .flat import COLUMNS, flat, more_columns
from .json_lines import to_json_lines
from .plain import unicode_text
from .record import TrialRecord
from .statistics import Ranked

__all__ = ["flat", "to_csv", "to_hpl_dat", "to_json_lines", "to_markdown", "varying"]

_HEADS = {"percent_of_peak": "% of peak", "usd_per_gflops": "USD/GFLOPS", "mflops_per_watt": "MFLOPS/W"}
_FIRST = ("blas", "kernel", "layout", "grid")


def to_csv(records: Iterable[TrialRecord]) -> str:
    """Comma-separated values with a header line; what is missing is empty."""
    rows, text = list(records), io.StringIO()
    more = more_columns(rows)
    writer = csv.DictWriter(text, (*COLUMNS, *more), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**flat(record), **{name: record.params.get(name) for name in more}} for record in rows)
    return unicode_text(text.getvalue())


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


def to_markdown(ranking: Sequence[Ranked], merits: Sequence[Mapping[str, float]] = ()) -> str:
    """The configurations as a Markdown table, best first; only the parameters that differ have a column.

    Args:
        ranking: best first.
        merits: of each configuration the figures of `metrics.Merit` that are known, by name; nothing leaves them out.
    """
    names = varying(ranking)
    known = [name for name in _HEADS if merits and name in merits[0]]
    failures = ["failed"] if any(entry.failed_runs for entry in ranking) else []
    head = ["rank", "GFLOPS", "spread %", "runs", *failures, *(_HEADS[name] for name in known), *names]
    lines = [_line(head), "|" + "---|" * len(head)]
    for place, entry in enumerate(ranking, start=1):
        spread = "" if entry.spread_percent is None else f"{entry.spread_percent:.1f}"
        cells = [str(place), f"{entry.expected_gflops:.2f}", spread, str(entry.runs)]
        cells += [str(entry.failed_runs) for _ in failures]
        cells += [f"{merits[place - 1][name]:.2f}" for name in known]
        lines.append(_line([*cells, *(str(entry.params.get(name, "")) for name in names)]))
    return "\n".join(lines) + "\n"


def varying(ranking: Sequence[Ranked]) -> list[str]:
    """Names of the parameters that are not the same in all entries, in the order of the flat columns."""
    names = {name for entry in ranking for name in entry.params}
    differing = [name for name in names if len({entry.params.get(name) for entry in ranking}) > 1]
    order = {name: place for place, name in enumerate(dict.fromkeys((*_FIRST, *COLUMNS)))}
    return sorted(differing, key=lambda name: (order.get(name, len(order)), name))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
