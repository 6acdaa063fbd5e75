"""Studies and trials for tests: everything has a value, and a test names only what it is about."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.columns import TrialPlace, flat, more_columns
from results.export.csv_lines import NOWHERE, csv_parts
from results.record import BlasObservation, Kind, Study, TrialRecord, TrialState
from results.store.store import Store

QUIET = {
    "solve_s": 12.0, "cores": 2.0, "cpu_s": 23.8, "waited_s": 0.05, "foreign_cpu_s": 0.1, "foreign_for_s": 0.0,
    "steal_s": 0.0,
}  # fmt: skip
"""What is measured beside a run of two ranks on two cores that nobody disturbs."""
DISTURBED = {
    **QUIET, "cpu_s": 16.6, "waited_s": 7.0, "foreign_cpu_s": 7.2, "foreign_for_s": 9.0, "foreign_cpu_s:python3": 6.8,
}  # fmt: skip
"""The same where others took 0.8 of two cores for 9 of 12 s."""
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_study(name: str = "study", **changes: Any) -> Study:
    facts: dict[str, Any] = {
        "created_at": START,
        "space_name": "default",
        "space_text": '[NB]\nvalues = [128, 192]  # größer ist nicht "besser"\n',
        "engine": "bayes",
        "options": {"seed": 1, "budget": {"trials": 20, "wall_s": None}, "overrides": {"NB": [128, 192]}},
        "host": {"cpu": "AMD EPYC", "cores": 2, "memory_bytes": 2**34},
        "rpeak_gflops": 134.4,
        "price_usd": 2490.0,
        "power_w": 900.0,
        "versions": {"hpl": "2.3", "openblas": "0.3.21"},
    }
    return Study(name, **{**facts, **changes})


def add_facts(store: Store, study: str, facts: Mapping[str, object]) -> None:
    """Store of a study's machine what this test needs, which no command adds once a study has begun."""
    host = json.dumps({**store.study(study).host, **facts})
    with closing(sqlite3.connect(store.place)) as connection, connection:
        connection.execute("UPDATE studies SET host = ? WHERE name = ?", (host, study))


def begun(study: str = "study", key: str = "192|1x2", kind: Kind = Kind.SEARCH, **changes: Any) -> TrialRecord:
    facts: dict[str, Any] = {
        "number": 0,
        "state": TrialState.RUNNING,
        "params": {"NB": 192, "grid": "1x2", "blas": "openblas", "mpi.btl": "self,vader"},
        "started_at": START,
    }
    return TrialRecord(study=study, kind=kind, key=key, **{**facts, **changes})


def finished(number: int, gflops: float | None = 75.5, study: str = "study", **changes: Any) -> TrialRecord:
    """A quiet trial with a value in every field, whose residual PASSED unless `changes` say otherwise."""
    hpl = HplParams(6000, 192, 1, 2)
    facts: dict[str, Any] = {
        "state": TrialState.COMPLETE,
        "hpl": hpl,
        "blas": "openblas",
        "kernel": "SkylakeX",
        "ranks": 2,
        "threads": 1,
        "time_s": 1.91,
        "gflops": gflops,
        "residual": 2.5e-3,
        "passed": True,
        "observed": BlasObservation("/lib/libopenblas.so.0", "0.3.21", "SkylakeX", 1, ("node-1", "node-2")),
        "command": "mpirun -np 2 xhpl",
        "directory": f"/runs/{study}/{number:05d}",
        "hpl_dat": render(HplDat.of(hpl)),
        "output": "WR01C2R4        6000   192     1     2               1.91              7.5500e+01\n" * 20,
        "errors_text": "hpltune-rank {}\n",
        "ended_at": START + timedelta(seconds=3.25),
        "cost_s": 3.25,
        "xhpl_key": "3f2a",
        "versions": {"openblas": "0.3.22"},
        "measurements": QUIET,
    }
    return begun(study, number=number, **{**facts, **changes})


def to_csv(records: Iterable[TrialRecord], placed: Mapping[int, TrialPlace] = NOWHERE) -> str:
    """The CSV of an export, of trials that are in no store."""
    known = list(records)
    rows = ((flat(record), record.params) for record in known)
    return "".join(csv_parts(more_columns(known), rows, placed))
