"""Converts trials to JSON lines and back, one object per line, without any loss."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from hpl.errors import HplError

from ..columns import FIELDS, TABLE, TrialPlace, record_of, values_of
from ..errors import ResultsError
from ..plain import unicode_text
from ..record import TrialRecord

_NEEDED = (*(name for name in FIELDS if not TABLE[name].is_later), "library")


def json_line(record: TrialRecord, placed: TrialPlace | None = None) -> str:
    """Write the line of a trial: all columns, with objects and long texts as they are.

    Args:
        placed: as in `flat`.
    """
    row = values_of(record) | (asdict(placed) if placed else {})
    return unicode_text(json.dumps(row, ensure_ascii=False, allow_nan=False)) + "\n"


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


def _record(row: dict[str, Any]) -> TrialRecord:
    needed = {name: row[name] for name in _NEEDED}
    return record_of({**row, **needed, "started_at": row["started_at"] or row["file_changed_at"]})
