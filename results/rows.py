"""Records to rows and back."""

import json
import zlib
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping

from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Swap

from .record import Invalidity, Kind, Observed, Study, TrialRecord, TrialState

_WORDS = {"PMAP": Pmap, "PFACT": Fact, "RFACT": Fact, "BCAST": Bcast, "SWAP": Swap, "L1": Form, "U": Form}
_HPL_NAMES = tuple(field.name for field in fields(HplParams))
_PLAIN = (
    "study", "number", "reason", "key", "blas", "kernel", "ranks", "threads", "time_s", "gflops", "residual", "passed",
    "cost_s", "command", "directory", "xhpl_key",
)  # fmt: skip


def study_row(study: Study) -> dict[str, Any]:
    """The row of a study."""
    return {
        "name": study.name,
        "created_at": study.created_at.isoformat(),
        "state": study.state,
        "space_name": study.space_name,
        "space_text": study.space_text,
        "engine": study.engine,
        "rpeak_gflops": study.rpeak_gflops,
        "price_usd": study.price_usd,
        "power_w": study.power_w,
        "options": json.dumps(study.options),
        "host": json.dumps(study.host),
        "versions": json.dumps(study.versions),
    }


def study_of(row: RowMapping) -> Study:
    """The study of a row."""
    loaded = {name: json.loads(row[name]) for name in ("options", "host", "versions")}
    plain = {name: row[name] for name in study_names() if name not in loaded and name != "created_at"}
    return Study(**plain, **loaded, created_at=datetime.fromisoformat(row["created_at"]))


def study_names() -> tuple[str, ...]:
    """Fields of a study."""
    return tuple(field.name for field in fields(Study))


def trial_row(record: TrialRecord) -> dict[str, Any]:
    """The row of a trial, without its outputs."""
    row: dict[str, Any] = {name: getattr(record, name) for name in _PLAIN}
    hpl = {name: getattr(record.hpl, name) if record.hpl else None for name in _HPL_NAMES}
    observed = record.observed
    return {
        **row,
        **{name: int(value) if name in _WORDS and value is not None else value for name, value in hpl.items()},
        "kind": record.kind.value,
        "state": record.state.value,
        "invalidity": record.invalidity.value if record.invalidity else None,
        "started_at": record.started_at.isoformat(),
        "ended_at": record.ended_at.isoformat() if record.ended_at else None,
        "library": observed.library if observed else None,
        "library_version": observed.version if observed else None,
        "library_kernel": observed.kernel if observed else None,
        "library_threads": observed.threads if observed else None,
        "hosts": json.dumps(observed.hosts) if observed else None,
        "params": json.dumps(dict(record.params)),
    }


def output_row(record: TrialRecord) -> dict[str, Any]:
    """What a trial printed, compressed."""
    return {
        "study": record.study,
        "number": record.number,
        "hpl_dat": record.hpl_dat,
        "stdout_zlib": zlib.compress(record.output.encode()),
        "stderr_zlib": zlib.compress(record.errors_text.encode()),
    }


def trial_of(row: RowMapping, output: RowMapping | None = None) -> TrialRecord:
    """The record of a row, with its outputs where they were read too."""
    printed: dict[str, Any] = {}
    if output is not None:
        printed = {
            "hpl_dat": output["hpl_dat"],
            "output": zlib.decompress(output["stdout_zlib"]).decode(),
            "errors_text": zlib.decompress(output["stderr_zlib"]).decode(),
        }
    return TrialRecord(
        **{name: row[name] for name in _PLAIN},
        **printed,
        kind=Kind(row["kind"]),
        state=TrialState(row["state"]),
        invalidity=Invalidity(row["invalidity"]) if row["invalidity"] else None,
        params=json.loads(row["params"]),
        hpl=_hpl_of(row),
        observed=_observed_of(row),
        started_at=datetime.fromisoformat(row["started_at"]),
        ended_at=datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
    )


def _hpl_of(row: RowMapping) -> HplParams | None:
    if row["N"] is None:
        return None
    values = {name: row[name] for name in _HPL_NAMES}
    return HplParams(**{**values, **{name: kind.from_digit(values[name]) for name, kind in _WORDS.items()}})


def _observed_of(row: RowMapping) -> Observed | None:
    if row["library"] is None:
        return None
    return Observed(
        row["library"],
        row["library_version"],
        row["library_kernel"],
        row["library_threads"],
        tuple(json.loads(row["hosts"])),
    )
