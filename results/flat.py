"""A trial as one row of plain values: the columns of every table hpltune writes."""

from collections.abc import Iterable

from .plain import finite
from .record import FIGURES, TrialRecord

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
}  # fmt: skip
"""Names and types in their order; `more_columns` follow, and later versions only append."""


def more_columns(records: Iterable[TrialRecord]) -> list[str]:
    """Further columns of a table of these: parameters that are none of HPL.dat, such as layout, mpi and net.mtu."""
    return sorted({name for record in records for name in record.params} - COLUMNS.keys())


def flat(record: TrialRecord) -> dict[str, Cell]:
    """The row of a trial; None is what is missing or not finite."""
    row: dict[str, Cell] = {name: getattr(record, name, None) for name in COLUMNS}
    row.update({name: finite(getattr(record, name)) for name in FIGURES})
    row["kind"], row["state"] = record.kind.value, record.state.value
    row["invalidity"] = record.invalidity.value if record.invalidity else None
    row["started_at"] = record.started_at.isoformat()
    row["ended_at"] = record.ended_at.isoformat() if record.ended_at else None
    if record.hpl is not None:
        row.update(record.hpl.words())
    if record.observed is not None:
        row["library"], row["library_version"] = record.observed.library, record.observed.version
        row["library_kernel"], row["library_threads"] = record.observed.kernel, record.observed.threads
        row["hosts"] = ",".join(record.observed.hosts)
    return row
