"""Converts a trial to a row of plain values, the columns of every table that hpltune writes."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from hpl.params import Scalar

from .plain import finite, finite_figures, time_text
from .record import FIGURES, TrialRecord

GRID = re.compile(r"[1-9]\d{0,8}x[1-9]\d{0,8}")
Cell = str | int | float | bool | None

COLUMNS: dict[str, type[Cell]] = {
    "study": str, "number": int, "kind": str, "state": str, "invalidity": str, "reason": str,
    "blas": str, "kernel": str, "ranks": int, "threads": int,
    "N": int, "NB": int, "grid": str, "PMAP": str, "PFACT": str, "NBMIN": int, "NDIV": int, "RFACT": str,
    "BCAST": str, "DEPTH": int, "SWAP": str, "swap_threshold": int, "L1": str, "U": str, "EQUIL": str,
    "alignment": int, "threshold": float,
    "gflops": float, "time_s": float, "residual": float, "passed": bool, "cost_s": float,
    "started_at": str, "ended_at": str,
    "library": str, "library_version": str, "library_kernel": str, "library_threads": int,
    "key": str, "command": str, "directory": str, "xhpl_key": str,
    "simulated": bool, "part": float, "session": int, "hosts": str,
    "rank": int, "expected_gflops": float, "percent_of_peak": float, "rates": str, "cautions": str,
    "measurements": str, "disturbed": str, "conditions": str,
}  # fmt: skip
"""Names and types of the columns in their order; `more_columns` follow, and later versions only append columns."""
HPL_WORDS = tuple(COLUMNS)[list(COLUMNS).index("N") : list(COLUMNS).index("gflops")]
"""The columns of what HPL.dat says."""


@dataclass(frozen=True)
class TrialPlace:
    """The rank of a trial's configuration in its study, as `hpltune best` shows it.

    Attributes:
        rank: from 1.
        expected_gflops: the expected rate of one more run of the configuration.
        percent_of_peak: the expected rate in percent of the peak of the nodes in use; None if that is not known.
        cautions: sentences that a reader of the rate must know; "" for none.
    """

    rank: int
    expected_gflops: float
    percent_of_peak: float | None
    cautions: str = ""


def told_words(params: Mapping[str, Scalar]) -> dict[str, Cell]:
    """Return what a trial's parameters tell of its HPL.dat: some where it was imported; nothing without its sizes."""
    told: dict[str, Cell] = {name: params[name] for name in HPL_WORDS if type(params.get(name)) is COLUMNS[name]}
    return told if GRID.fullmatch(str(told.get("grid"))) and {"N", "NB"} <= told.keys() else {}


def more_columns(records: Iterable[TrialRecord]) -> list[str]:
    """Return more columns for these records: parameters that are not in HPL.dat, such as layout, mpi and net.mtu."""
    return sorted({name for record in records for name in record.params} - COLUMNS.keys())


def flat(record: TrialRecord, placed: TrialPlace | None = None) -> dict[str, Cell]:
    """Make the row of a trial; None stands for values that are missing or not finite.

    Args:
        placed: the rank of its configuration; None if it has none or it is not wanted.
    """
    row: dict[str, Cell] = {name: getattr(record, name, None) for name in COLUMNS}
    row.update({name: finite(getattr(record, name)) for name in FIGURES})
    row["kind"], row["state"] = record.kind.value, record.state.value
    row["invalidity"] = record.invalidity.value if record.invalidity else None
    row["started_at"] = time_text(record.known_start) if record.known_start else None
    row["ended_at"] = time_text(record.ended_at) if record.ended_at else None
    row.update(told_words(record.params) if record.hpl is None else record.hpl.words())
    if record.observed is not None:
        row["library"], row["library_version"] = record.observed.library, record.observed.version
        row["library_kernel"], row["library_threads"] = record.observed.kernel, record.observed.threads
        row["hosts"] = ",".join(record.observed.hosts)
    measurements = finite_figures(record.measurements)
    row["measurements"] = json.dumps(measurements) if measurements else None
    row["disturbed"] = str(record.disturbed) if record.disturbed else None
    row["conditions"] = record.conditions.value
    if placed is not None:
        row.update(asdict(placed))
    return row
