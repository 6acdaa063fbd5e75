"""A study as text for other programs: CSV, JSON lines, Markdown."""

import csv
import io
import json
from collections.abc import Iterable, Sequence

from .record import TrialRecord
from .statistics import Ranked

COLUMNS = (
    "study", "number", "kind", "state", "invalidity", "reason", "blas", "kernel", "ranks", "threads",
    "N", "NB", "grid", "PMAP", "PFACT", "NBMIN", "NDIV", "RFACT", "BCAST", "DEPTH", "SWAP", "swap_threshold",
    "L1", "U", "EQUIL", "alignment", "threshold", "gflops", "time_s", "residual", "passed", "cost_s",
    "started_at", "ended_at", "library", "library_version", "library_kernel", "library_threads", "key", "command",
)  # fmt: skip
"""The columns of the flat form, in their order; later versions only append."""

Cell = str | int | float | bool | None


def flat(record: TrialRecord) -> dict[str, Cell]:
    """A trial as one row of plain values."""
    row: dict[str, Cell] = dict.fromkeys(COLUMNS)
    row.update(
        {name: value for name, value in vars(record).items() if name in row and isinstance(value, str | int | float)}
    )
    if record.hpl is not None:
        row.update(record.hpl.words())
    if record.observed is not None:
        row["library"], row["library_version"] = record.observed.library, record.observed.version
        row["library_kernel"], row["library_threads"] = record.observed.kernel, record.observed.threads
    row["started_at"] = record.started_at.isoformat()
    row["ended_at"] = record.ended_at.isoformat() if record.ended_at else None
    return row


def to_csv(records: Iterable[TrialRecord]) -> str:
    """Comma-separated values with a header line; missing figures are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat(record) for record in records)
    return text.getvalue()


def to_json_lines(records: Iterable[TrialRecord]) -> str:
    """One JSON object a line: the flat row, and `params` with everything the point set, MPI parameters included."""
    rows = ({**flat(record), "params": dict(record.params)} for record in records)
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def to_markdown(ranking: Sequence[Ranked]) -> str:
    """The configurations as a Markdown table, best first; only the parameters that differ have a column."""
    names = varying(ranking)
    head = ["rank", "GFLOPS (median)", "spread %", "runs", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for place, entry in enumerate(ranking, start=1):
        spread = "" if entry.spread_percent is None else f"{entry.spread_percent:.1f}"
        cells = [str(place), f"{entry.median_gflops:.2f}", spread, str(entry.runs)]
        cells += [str(entry.params.get(name, "")) for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def varying(ranking: Sequence[Ranked]) -> list[str]:
    """Names of the parameters that are not the same in all entries, in the order of the flat columns."""
    names = {name for entry in ranking for name in entry.params}
    differing = [name for name in names if len({entry.params.get(name) for entry in ranking}) > 1]
    order = {name: place for place, name in enumerate(("blas", "kernel", "layout", "grid", *COLUMNS))}
    return sorted(differing, key=lambda name: (order.get(name, len(order)), name))
