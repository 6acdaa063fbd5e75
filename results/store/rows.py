"""Converts records to rows and back.

Two kinds of values are changed, so that every trial can be stored: an infinite figure or NaN becomes missing, and
characters that some database cannot store (a lone surrogate from an odd file name, NUL) become escapes. A trial's
HPL.dat and outputs are stored unchanged.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import RowMapping, Text, cast, null

from hpl.errors import HplError
from hpl.params import HplParams, parse_grid

from ..disturbance import Conditions, Disturbance, judge_run
from ..errors import DamagedError
from ..flat import COLUMNS, Cell, TrialPlace, told_words
from ..plain import finite, finite_figures, moment_of, time_text, unicode_text
from ..record import (
    FIGURES,
    IMPORTED,
    MEASURED,
    BlasObservation,
    Invalidity,
    Kind,
    Study,
    TrialRecord,
    TrialState,
    is_untouched,
    rates_of,
)
from .schema import HPL_COLUMNS, TRIALS

_TEXTS = ("study", "reason", "key", "blas", "kernel", "command", "directory", "xhpl_key")
_PLAIN = ("number", "ranks", "threads", "passed", "part", "session")
_HPL_NAMES = tuple(column.name for column in HPL_COLUMNS)
_STUDY_JSON = ("options", "host", "versions")
_STUDY_TEXTS = ("name", "space_name", "space_text", "engine")
_COMPUTED = {
    "grid": cast(TRIALS.c.P, Text) + "x" + cast(TRIALS.c.Q, Text),
    "simulated": TRIALS.c.versions,
    "rates": TRIALS.c.versions,
    "disturbed": TRIALS.c.measurements,
    "conditions": TRIALS.c.measurements,
    **{field.name: null() for field in fields(TrialPlace)},
}
FLAT = (
    TRIALS.c.number,
    TRIALS.c.study,
    TRIALS.c.params,
    *(_COMPUTED[name] if name in _COMPUTED else TRIALS.c[name] for name in COLUMNS),
)
"""The columns that `row_of` reads, in its order."""
_SIMULATED, _RATES, _HOSTS, _MEASUREMENTS, _DISTURBED, _CONDITIONS, _RANKS, _THREADS, _STARTED, _ENDED, _KIND = (
    3 + list(COLUMNS).index(name)
    for name in (
        *("simulated", "rates", "hosts", "measurements", "disturbed", "conditions", "ranks", "threads"),
        *("started_at", "ended_at", "kind"),
    )
)
CONTENDER = tuple(
    TRIALS.c[name]
    for name in (
        *("study", "number", "kind", "state", "key", "gflops", "time_s", "residual", "passed", "session", "started_at"),
        *("params", "versions", "library", "hosts", "measurements", "ranks", "threads"),
    )
)
"""The columns that `contender_of` reads."""
Row = tuple[list[Cell], Mapping[str, Any]]
"""The cells of `flat.COLUMNS`, and all parameters."""


def study_row(study: Study) -> dict[str, Any]:
    """Make the row of a study, without its owner."""
    row = {field.name: getattr(study, field.name) for field in fields(Study)}
    row.update({name: json_text(dict(row[name])) for name in _STUDY_JSON})
    row.update({name: unicode_text(row[name]) for name in _STUDY_TEXTS})
    return {**row, "created_at": time_text(study.created_at)}


def study_of(row: RowMapping) -> Study:
    """Read the study from a row."""
    values = {field.name: row[field.name] for field in fields(Study)}
    with _readable(f"study {row['name']}"):
        values.update({name: object_of(row[name], name) for name in _STUDY_JSON})
        return Study(**{**values, "created_at": datetime.fromisoformat(row["created_at"])})


def trial_row(record: TrialRecord) -> dict[str, Any]:
    """Make the row of a trial, without its outputs."""
    observed = record.observed
    return {
        **{name: getattr(record, name) for name in _PLAIN},
        **{name: unicode_text(getattr(record, name)) for name in _TEXTS},
        **{name: finite(getattr(record, name)) for name in FIGURES},
        **_hpl_columns(record),
        "kind": record.kind.value,
        "state": record.state.value,
        "invalidity": record.invalidity.value if record.invalidity else None,
        "started_at": time_text(record.started_at),
        "ended_at": time_text(record.ended_at) if record.ended_at else None,
        "library": unicode_text(observed.library) if observed else None,
        "library_version": unicode_text(observed.version) if observed else None,
        "library_kernel": unicode_text(observed.kernel) if observed else None,
        "library_threads": observed.threads if observed else None,
        "hosts": json_text(observed.hosts) if observed else None,
        "params": json_text(dict(record.params)),
        "versions": json_text(dict(record.versions)),
        "measurements": json_text(finite_figures(record.measurements)),
    }


def trial_of(row: RowMapping, output: RowMapping | None = None) -> TrialRecord:
    """Read the record from a row, with its outputs if they were read too."""
    with _readable(f"trial {row['number']} of study {row['study']}"):
        printed: dict[str, Any] = {}
        if output is not None:
            printed = {
                "hpl_dat": _unpacked(output["hpl_dat_zlib"]),
                "output": _unpacked(output["stdout_zlib"]),
                "errors_text": _unpacked(output["stderr_zlib"]),
            }
        return TrialRecord(
            **{name: row[name] for name in (*_PLAIN, *_TEXTS, *FIGURES)},
            **printed,
            kind=Kind(row["kind"]),
            state=TrialState(row["state"]),
            invalidity=Invalidity(row["invalidity"]) if row["invalidity"] else None,
            params=object_of(row["params"], "params"),
            versions=object_of(row["versions"], "versions"),
            measurements=object_of(row["measurements"], "measurements"),
            hpl=_hpl_of(row),
            observed=_observed_of(row),
            started_at=datetime.fromisoformat(row["started_at"]),
            ended_at=moment_of(row["ended_at"]),
        )


def contender_of(row: RowMapping) -> TrialRecord:
    """Read from a row only the fields that a ranking needs."""
    with _readable(f"trial {row['number']} of study {row['study']}"):
        hosts = () if row["library"] is None else _hosts_of(row["hosts"])
        return TrialRecord(
            **{
                name: row[name]
                for name in (
                    *("study", "number", "key", "gflops", "time_s", "residual", "passed", "session"),
                    *("ranks", "threads"),
                )
            },
            measurements=object_of(row["measurements"], "measurements"),
            kind=Kind(row["kind"]),
            state=TrialState(row["state"]),
            params=object_of(row["params"], "params"),
            versions=object_of(row["versions"], "versions"),
            observed=BlasObservation("", "", "", None, hosts) if hosts else None,
            started_at=datetime.fromisoformat(row["started_at"]),
        )


def row_of(row: Sequence[Any]) -> Row:
    """Convert a row of FLAT as `flat` converts its record, but without making the record: large studies are read so."""
    try:
        cells = list(row)
        rates, conditions, why = _judged(*(row[at] for at in (_RATES, _MEASUREMENTS, _RANKS, _THREADS, _HOSTS)))
        cells[_RATES], cells[_SIMULATED] = rates, rates not in {MEASURED, IMPORTED}
        cells[_STARTED] = None if row[_KIND] == Kind.IMPORTED.value and row[_ENDED] is None else row[_STARTED]
        cells[_HOSTS] = None if row[_HOSTS] is None else ",".join(_hosts_of(row[_HOSTS]))
        cells[_MEASUREMENTS] = None if row[_MEASUREMENTS] == "{}" else row[_MEASUREMENTS]
        cells[_CONDITIONS], cells[_DISTURBED] = conditions.value, str(why) if why else None
        params = object_of(row[2], "params")
        told = told_words(params)
        return [told.get(name) if cell is None else cell for name, cell in zip(COLUMNS, cells[3:], strict=True)], params
    except ValueError as error:
        raise DamagedError(f"trial {row[0]} of study {row[1]} is damaged in the database: {error}") from error


def is_undisturbed(row: RowMapping) -> bool:
    """Whether it is known that nothing disturbed a run with these columns."""
    with suppress(ValueError):
        columns = ("versions", "measurements", "ranks", "threads", "hosts")
        return _judged(*(row[name] for name in columns))[1] is Conditions.UNDISTURBED
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
        "hpl_dat_zlib": _packed(record.hpl_dat),
        "stdout_zlib": _packed(record.output),
        "stderr_zlib": _packed(record.errors_text),
    }


def _hpl_columns(record: TrialRecord) -> dict[str, Any]:
    hpl = record.hpl
    if hpl is None:
        return {**dict.fromkeys(_HPL_NAMES), **_size_columns(record)}
    words = {**hpl.words(), "P": hpl.P, "Q": hpl.Q}
    return {name: words[name] for name in _HPL_NAMES}


def _size_columns(record: TrialRecord) -> dict[str, Any]:
    """Return N, NB, P and Q of an imported trial, which are known where not all of HPL's parameters are."""
    told = told_words(record.params)
    if not told:
        return {}
    P, Q = parse_grid(str(told["grid"]))
    return {"N": told["N"], "NB": told["NB"], "P": P, "Q": Q}


def _hpl_of(row: RowMapping) -> HplParams | None:
    if row["alignment"] is None:
        return None
    return HplParams.from_words({**{name: row[name] for name in _HPL_NAMES}, "grid": f"{row['P']}x{row['Q']}"})


def _observed_of(row: RowMapping) -> BlasObservation | None:
    if row["library"] is None:
        return None
    return BlasObservation(
        library=row["library"],
        version=row["library_version"],
        kernel=row["library_kernel"],
        threads=row["library_threads"],
        hosts=_hosts_of(row["hosts"]),
    )


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


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def _unpacked(blob: bytes) -> str:
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")
