"""Converts trials to a pandas data frame; this is the only module that imports pandas."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from pandas.api.extensions import ExtensionDtype

from ..flat import COLUMNS, flat
from ..record import TrialRecord

_PANDAS: dict[type, ExtensionDtype] = {
    str: pd.StringDtype(), int: pd.Int64Dtype(), float: pd.Float64Dtype(), bool: pd.BooleanDtype(),
}  # fmt: skip
_TIMES = ("started_at", "ended_at")


def frame(records: Iterable[TrialRecord]) -> pd.DataFrame:
    """Make a data frame with a row per trial, the columns of a CSV export, and the same types for any number of rows.

    A missing value is `pd.NA`, never zero and never NaN; times are in UTC. The rank of a configuration is known only in
    an export.
    """
    return _typed(pd.DataFrame([flat(record) for record in records], columns=list(COLUMNS)))


def read(csv: Path | str) -> pd.DataFrame:
    """Read a file of `hpltune export csv` with the types of `frame`; an empty text is a missing value."""
    return _typed(pd.read_csv(csv, dtype={name: _PANDAS[kind] for name, kind in COLUMNS.items()}))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    for name, kind in COLUMNS.items():
        if name in _TIMES:
            table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601")
        else:
            table[name] = table[name].astype(_PANDAS[kind])
    return table
