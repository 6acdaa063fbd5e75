"""Converts trials to a pandas data frame, and writes one as Parquet; this is the only module that imports pandas."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import pandas as pd
from pandas.api.extensions import ExtensionDtype

from hpl.params import Scalar

from ..columns import COLUMNS, TrialPlace, flat, more_columns
from ..errors import ResultsError
from ..record import Study, TrialRecord
from .csv_lines import NOWHERE

_PANDAS: dict[type, ExtensionDtype] = {
    int: pd.Int64Dtype(), float: pd.Float64Dtype(), bool: pd.BooleanDtype(),
}  # fmt: skip
"""Types of numbers; all else is text."""
UNITS = {name: column.unit for name, column in COLUMNS.items() if column.unit}
"""Units of the columns of a Parquet file, kept in it."""
FACTS = ("name", "engine", "space_name", "rpeak_gflops", "price_usd", "power_w")
"""Fields of a study that are kept in a Parquet file, beside its host, versions and notes."""


def frame(
    records: Iterable[TrialRecord], placed: Mapping[int, TrialPlace] = NOWHERE, *, parameters: bool = False
) -> pd.DataFrame:
    """Make a data frame with a row per trial, the columns of a CSV export, and the same types for any number of rows.

    A missing value is `pd.NA`, never zero and never NaN; times are in UTC.

    Args:
        placed: ranks of trials in their study, by the trials' numbers; without them `rank` is missing.
        parameters: whether the parameters that are not in HPL.dat (layout, mpi, net.mtu) follow as columns. One whose
            values are of several types is text.
    """
    known = list(records)
    table = _typed(pd.DataFrame([flat(one, placed.get(one.number)) for one in known], columns=list(COLUMNS)))
    for name in more_columns(known) if parameters else ():
        table[name] = _column([one.params.get(name) for one in known])
    return table


def read(csv: Path | str) -> pd.DataFrame:
    """Read a file of `hpltune export csv` with the types of `frame`; an empty text is a missing value."""
    return _typed(
        pd.read_csv(csv, dtype={name: _PANDAS.get(column.kind, pd.StringDtype()) for name, column in COLUMNS.items()})
    )


def write_parquet(path: Path, study: Study, records: Iterable[TrialRecord], placed: Mapping[int, TrialPlace]) -> None:
    """Write a row for each trial, with the columns of a CSV and their types.

    `pandas.read_parquet` returns the facts of the study and the units of the columns as `attrs` of the table.

    Raises:
        ResultsError: pyarrow is not installed.
    """
    table = frame(records, placed, parameters=True)
    facts: dict[str, object] = {name: getattr(study, name) for name in FACTS}
    facts |= {"host": dict(study.host), "versions": dict(study.versions), "notes": study.notes.to_json()}
    table.attrs = {"study": facts, "units": UNITS}
    try:
        table.to_parquet(path, engine="pyarrow", compression="zstd", index=False)
    except ImportError as error:
        raise ResultsError(
            "export parquet needs pyarrow, which is not installed: take csv, or install pyarrow"
        ) from error


def _column(values: list[Scalar | None]) -> "pd.Series[str]":
    kinds = {type(value) for value in values if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else float if kinds == {int, float} else str
    return pd.Series(
        [None if value is None else kind(value) for value in values], dtype=_PANDAS.get(kind, pd.StringDtype())
    )


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    for name, column in COLUMNS.items():
        if name not in table:  # written by an hpltune that did not have it yet
            table[name] = pd.NA
        if column.kind is datetime:
            table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601")
        else:
            table[name] = table[name].astype(_PANDAS.get(column.kind, pd.StringDtype()))
    return table
