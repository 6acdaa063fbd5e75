"""Converts trials to JSON lines and back, one object per line, without any loss."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hpl.errors import HplError
from hpl.params import HplParams

from ..errors import ResultsError
from ..flat import HPL_WORDS, TrialPlace, flat
from ..plain import finite_figures, moment_of, time_text, unicode_text
from ..record import BlasObservation, Invalidity, Kind, TrialRecord, TrialState

_AS_THEY_ARE = (
    "study", "number", "reason", "key", "blas", "kernel", "ranks", "threads", "time_s", "gflops", "residual", "passed",
    "cost_s", "command", "directory", "xhpl_key", "params", "versions", "hpl_dat", "output", "errors_text",
)  # fmt: skip


def json_line(record: TrialRecord, placed: TrialPlace | None = None) -> str:
    """Write the line of a trial: the columns of the CSV, with all fields that are objects or long texts as they are.

    Args:
        placed: as in `flat`.
    """
    return unicode_text(json.dumps(_object(record, placed), ensure_ascii=False, allow_nan=False)) + "\n"


def from_json_lines(text: str, name: str = "JSON lines") -> list[TrialRecord]:
    """Read the records whose lines `json_line` wrote.

    Args:
        text: the JSON lines; empty lines and unknown keys are ignored.
        name: the name of the text in errors.

    Raises:
        ResultsError: a line is no such record; the message names the line.
    """
    return list(_records(text, name))


def _records(text: str, name: str) -> Iterator[TrialRecord]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _record(json.loads(line))
        except KeyError as error:
            raise ResultsError(f"{name}:{number}: no trial of hpltune: {error} is missing") from error
        except (ValueError, TypeError, AttributeError, HplError) as error:
            raise ResultsError(f"{name}:{number}: no trial of hpltune: {error}") from error


def _object(record: TrialRecord, placed: TrialPlace | None) -> dict[str, Any]:
    return {
        **flat(record, placed),
        "hosts": list(record.observed.hosts) if record.observed else None,
        "params": dict(record.params),
        "versions": dict(record.versions),
        "measurements": finite_figures(record.measurements),
        "hpl_dat": record.hpl_dat,
        "output": record.output,
        "file_changed_at": None if record.known_start else time_text(record.started_at),
        "errors_text": record.errors_text,
    }


def _record(row: dict[str, Any]) -> TrialRecord:
    return TrialRecord(
        **{name: row[name] for name in _AS_THEY_ARE},
        kind=Kind(row["kind"]),
        state=TrialState(row["state"]),
        invalidity=Invalidity(row["invalidity"]) if row["invalidity"] else None,
        started_at=datetime.fromisoformat(row["started_at"] or row["file_changed_at"]),
        ended_at=moment_of(row["ended_at"]),
        hpl=None if None in map(row.get, HPL_WORDS) else HplParams.from_words(row),
        observed=_observed(row),
        part=row.get("part", 1.0),
        session=row.get("session", 0),
        measurements=row.get("measurements", {}),
    )


def _observed(row: dict[str, Any]) -> BlasObservation | None:
    if row["library"] is None:
        return None
    version, kernel, threads = row["library_version"], row["library_kernel"], row["library_threads"]
    return BlasObservation(row["library"], version, kernel, threads, tuple(row["hosts"]))
