"""Converts trials to a pandas data frame; this is the only module that imports pandas."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from pandas.api.extensions import ExtensionDtype

from hpl.params import Scalar

from ..flat import COLUMNS, TrialPlace, flat, more_columns
from ..record import TrialRecord
from .csv_lines import NOWHERE

_PANDAS: dict[type, ExtensionDtype] = {
    str: pd.StringDtype(), int: pd.Int64Dtype(), float: pd.Float64Dtype(), bool: pd.BooleanDtype(),
}  # fmt: skip
_TIMES = ("started_at", "ended_at")


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
    return _typed(pd.read_csv(csv, dtype={name: _PANDAS[kind] for name, kind in COLUMNS.items()}))


def _column(values: list[Scalar | None]) -> "pd.Series[str]":
    kinds = {type(value) for value in values if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else float if kinds == {int, float} else str
    return pd.Series([None if value is None else kind(value) for value in values], dtype=_PANDAS[kind])


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    for name, kind in COLUMNS.items():
        if name not in table:  # written by an hpltune that did not have it yet
            table[name] = pd.NA
        if name in _TIMES:
            table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601")
        else:
            table[name] = table[name].astype(_PANDAS[kind])
    return table
