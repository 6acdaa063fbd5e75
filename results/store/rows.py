"""Converts records to rows and back.

Two kinds of values are changed, so that every trial can be stored: an infinite figure or NaN becomes missing, and
characters that some database cannot store (a lone surrogate from an odd file name, NUL) become escapes. A trial's
HPL.dat and outputs are stored unchanged.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import RowMapping

from hpl.errors import HplError
from hpl.params import Scalar, parse_grid

from ..columns import COLUMNS, HPL_WORDS, TABLE, record_of, told_words, values_of
from ..disturbance import Conditions, Disturbance, judge_run
from ..errors import DamagedError
from ..plain import finite_figures, time_text, typed, unicode_text
from ..record import (
    IMPORTED,
    MEASURED,
    MOST_NOTED,
    MOST_TAGS,
    TAG_WORD,
    Kind,
    Study,
    StudyNotes,
    TrialRecord,
    is_untouched,
    rates_of,
)
from .schema import IN_TRIALS, SIZES, TRIALS

_HPL_COLUMNS = (*(name for name in HPL_WORDS if name != "grid"), "P", "Q")
_NAMES = tuple(TRIALS.c.keys())
_OBJECTS = tuple(name for name, column in TABLE.items() if column.kind is dict)
_PRINTED = {"hpl_dat": "hpl_dat_zlib", "output": "stdout_zlib", "errors_text": "stderr_zlib"}
_STUDY_JSON = ("options", "host", "versions")
_STUDY_TEXTS = ("name", "space_name", "space_text", "engine")
_JUDGED = ("versions", "measurements", "ranks", "threads", "hosts")
CONTENDER = tuple(
    TRIALS.c[name]
    for name in (
        *("study", "number", "kind", "state", "key", "gflops", "time_s", "residual", "passed", "session", "started_at"),
        *("params", "versions", "library", "hosts", "measurements", "ranks", "threads"),
        *(name for name, column in TABLE.items() if column.usual and name in IN_TRIALS),
    )
)
"""The columns that a ranking needs of its trials, and what must be told beside their rates."""
Row = tuple[dict[str, Any], Mapping[str, Any]]
"""The plain values of `columns.COLUMNS`, and all parameters."""


def study_row(study: Study) -> dict[str, Any]:
    """Make the row of a study, without its owner."""
    row = {field.name: getattr(study, field.name) for field in fields(Study)}
    row.update({name: json_text(dict(row[name])) for name in _STUDY_JSON})
    row.update({name: unicode_text(row[name]) for name in _STUDY_TEXTS})
    return {**row, "created_at": time_text(study.created_at), "notes": json_text(study.notes.to_json())}


def study_of(row: RowMapping) -> Study:
    """Read the study from a row."""
    values = {field.name: row[field.name] for field in fields(Study)}
    with _readable(f"study {row['name']}"):
        values.update({name: object_of(row[name], name) for name in _STUDY_JSON})
        notes: StudyNotes = typed(StudyNotes, object_of(row["notes"], "notes"))
        tags = sorted({word for word in notes.tags if TAG_WORD.fullmatch(word)})[:MOST_TAGS]
        values["notes"] = replace(notes, note=notes.note[:MOST_NOTED], tags=tuple(tags))
        return Study(**{**values, "created_at": datetime.fromisoformat(row["created_at"])})


def trial_row(record: TrialRecord) -> dict[str, Any]:
    """Make the row of a trial, without its outputs."""
    values = values_of(record)
    P, Q = parse_grid(values["grid"]) if values["grid"] else (None, None)
    values |= {"P": P, "Q": Q, "started_at": time_text(record.started_at)}
    if record.hpl is None:  # of an imported one the sizes may be known nevertheless
        values |= dict.fromkeys(name for name in _HPL_COLUMNS if name not in SIZES)
    return {name: _stored(values[name]) for name in IN_TRIALS}


def _stored(value: object) -> object:
    if isinstance(value, dict | list):
        return json_text(value)
    return unicode_text(value) if isinstance(value, str) else value


def trial_of(row: RowMapping, output: RowMapping | None = None) -> TrialRecord:
    """Read the record from a row, with its outputs if they were read too, and without what is not in the row."""
    with _readable(f"trial {row['number']} of study {row['study']}"):
        objects = {name: object_of(row[name], name) for name in _OBJECTS if name in row}
        _require_whole(row, objects)
        values = {**row, **objects, "grid": f"{row.get('P')}x{row.get('Q')}"}
        values |= {} if output is None else {name: _unpacked(output[stored]) for name, stored in _PRINTED.items()}
        values["hosts"] = () if row["library"] is None else _hosts_of(row["hosts"])
        return record_of(values)


def row_of(stored: Sequence[Any]) -> Row:
    """Convert a row of TRIALS as `values_of` does its record, without making the record: large studies are read so."""
    row = dict(zip(_NAMES, stored, strict=True))
    with _readable(f"trial {row['number']} of study {row['study']}"):
        params = object_of(row["params"], "params")
        _require_whole(row, {"params": params})
        rates, conditions, why = _judged(*(row[name] for name in _JUDGED))
        values = row | {
            **({"grid": f"{row['P']}x{row['Q']}"} if row["alignment"] else told_words(params)),
            "rates": rates,
            "simulated": rates not in {MEASURED, IMPORTED},
            "conditions": conditions.value,
            "disturbed": str(why) if why else None,
            "hosts": None if row["hosts"] is None else list(_hosts_of(row["hosts"])),
            "measurements": finite_figures(object_of(row["measurements"], "measurements")),
        }
        if row["kind"] == Kind.IMPORTED.value and row["ended_at"] is None:
            values["started_at"] = None
        return {name: values.get(name) for name in COLUMNS}, params


def _require_whole(row: Mapping[str, Any] | RowMapping, objects: Mapping[str, Mapping[str, Any]]) -> None:
    """Make sure that a row with one word of its HPL.dat has all, and that its objects hold plain values.

    Raises:
        ValueError: it lacks one, or they do not; the sentence names the column.
    """
    damaged = [name for name in _HPL_COLUMNS if row.get("alignment") is not None and row[name] is None]
    damaged += [name for name, found in objects.items() if not all(isinstance(one, Scalar) for one in found.values())]
    if damaged:
        raise ValueError(f"its column {damaged[0]} is not whole")


def is_undisturbed(row: RowMapping) -> bool:
    """Whether it is known that nothing disturbed a run with these columns."""
    with suppress(ValueError):
        return _judged(*(row[name] for name in _JUDGED))[1] is Conditions.UNDISTURBED
    return False


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Turn errors of a damaged row into a DamagedError that names the row."""
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError, HplError, zlib.error) as error:
        raise DamagedError(f"{what} is damaged in the database: {error}") from error


def output_row(record: TrialRecord) -> dict[str, Any]:
    """Make the row of a trial's HPL.dat and outputs, compressed."""
    return {
        "study": record.study,
        "number": record.number,
        **{
            stored: zlib.compress(getattr(record, name).encode("utf-8", "surrogatepass"))
            for name, stored in _PRINTED.items()
        },
    }


@lru_cache
def _judged(
    versions: str, measurements: str, ranks: int | None, threads: int | None, hosts: str | None
) -> tuple[str, Conditions, Disturbance | None]:
    """Judge a run from its columns; how its rate came about, and what `judge_run` says of it."""
    known, count = object_of(versions, "versions"), len(_hosts_of(hosts)) if hosts else 0
    measured = object_of(measurements, "measurements")
    return rates_of(known), *judge_run(measured, ranks, threads, count, untouched=is_untouched(known))


@lru_cache
def _hosts_of(text: str) -> tuple[str, ...]:
    hosts = _json(text, "hosts")
    if not isinstance(hosts, list):
        raise ValueError("its column hosts holds no JSON list")
    return tuple(hosts)


def object_of(text: str, column: str) -> dict[str, Any]:
    """Read a JSON object from a column.

    Raises:
        ValueError: the text is damaged; the sentence names the column.
    """
    found = _json(text, column)
    if not isinstance(found, dict):
        raise ValueError(f"its column {column} holds no JSON object")
    return found


def _json(text: str, column: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"its column {column} holds no JSON") from error


def json_text(value: object) -> str:
    """Write a value as the JSON of options and facts."""
    return json.dumps(value, allow_nan=False)


def _unpacked(blob: bytes) -> str:
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")
