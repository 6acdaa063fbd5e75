"""Writes a study as a file that is no text: a Parquet table for data frames, and a storage of Optuna."""

import importlib.util
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hpl.params import Scalar

from ..errors import ResultsError
from ..flat import TrialPlace, flat
from ..record import SMALLER_RUNS, Study, TrialRecord, TrialState

UNITS = {"gflops": "GFLOPS", "expected_gflops": "GFLOPS", "time_s": "s", "cost_s": "s", "percent_of_peak": "%"}
"""Units of the columns of a Parquet file, kept with each column."""
AT_A_TIME = 500
"""Trials that are given to Optuna at a time."""


def write_parquet(path: Path, study: Study, records: Iterable[TrialRecord], placed: Mapping[int, TrialPlace]) -> None:
    """Write a row for each trial, with the columns of a CSV, their types, and the facts of the study as metadata.

    Raises:
        ResultsError: pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise ResultsError("export parquet needs pyarrow, which is not installed: take csv, or install pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    from .frame import frame  # noqa: PLC0415

    table = pa.Table.from_pandas(frame(records, placed, parameters=True), preserve_index=False)
    fields = [
        field.with_metadata({"unit": UNITS[field.name]}) if field.name in UNITS else field for field in table.schema
    ]
    facts = {"name": study.name, "host": dict(study.host), "versions": dict(study.versions), **_figures(study)}
    metadata = {**(table.schema.metadata or {}), b"hpltune.study": json.dumps(facts).encode()}
    pq.write_table(table.cast(pa.schema(fields, metadata)), path, compression="zstd")


def _figures(study: Study) -> dict[str, Any]:
    return {name: getattr(study, name) for name in ("engine", "space_name", "rpeak_gflops", "price_usd", "power_w")}


def write_optuna(path: Path, study: Study, records: Iterable[TrialRecord]) -> None:
    """Write an Optuna storage in SQLite with one study, which is maximised.

    A full run that counts is COMPLETE with its GFLOPS; a small or stopped run is PRUNED; all others FAIL. What else is
    known of a trial is among its user attributes.
    """
    import optuna  # noqa: PLC0415 - slow to import

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        target = optuna.create_study(storage=storage, study_name=study.name, direction="maximize")
        facts = {"space": study.space_name, "host": dict(study.host), "versions": dict(study.versions)}
        for name, value in {**facts, **_figures(study), "value": "GFLOPS"}.items():
            target.set_user_attr(name, value)
        kept = list(records)
        distributions = _distributions(kept)
        trials = (_trial(record, distributions) for record in kept)
        while batch := list(islice(trials, AT_A_TIME)):
            target.add_trials(batch)
        storage.remove_session()
        storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(before)


def _distributions(records: Iterable[TrialRecord]) -> dict[str, Any]:
    """Return for each parameter the values that it had: a range of numbers, or a choice."""
    from optuna.distributions import (  # noqa: PLC0415
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    values: dict[str, dict[Scalar, None]] = {}
    for record in records:
        for name, value in record.params.items():
            values.setdefault(name, {})[value] = None
    found: dict[str, Any] = {}
    for name, had in values.items():
        kinds = {type(value) for value in had}
        if kinds == {int}:
            found[name] = IntDistribution(min(map(int, had)), max(map(int, had)))
        elif kinds <= {int, float}:
            found[name] = FloatDistribution(min(map(float, had)), max(map(float, had)))
        else:
            found[name] = CategoricalDistribution(sorted(had, key=str))
    return found


def _trial(record: TrialRecord, distributions: Mapping[str, Any]) -> Any:
    import optuna  # noqa: PLC0415
    from optuna.trial import TrialState as State  # noqa: PLC0415

    small = record.state is TrialState.COMPLETE and record.kind in SMALLER_RUNS
    counts = record.ranked and not small
    cells = {name: cell for name, cell in flat(record).items() if cell is not None and name not in record.params}
    trial = optuna.trial.create_trial(
        state=State.COMPLETE if counts else State.PRUNED if small else State.FAIL,
        value=record.gflops if counts else None,
        params=dict(record.params),
        distributions={name: distributions[name] for name in record.params},
        user_attrs=cells,
    )
    trial.datetime_start = record.started_at.astimezone().replace(tzinfo=None)
    ended = record.ended_at or record.started_at
    trial.datetime_complete = ended.astimezone().replace(tzinfo=None)
    return trial
