"""Trials as a pandas data frame; the only module that imports pandas."""

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
    """One row a trial, in the columns that every CSV export has; their types are the same however many rows there are.

    What is missing is missing (`pd.NA`), never zero and never an empty number; times are in UTC. Where a configuration
    stands among the others is known in an export only.
    """
    return _typed(pd.DataFrame([flat(record) for record in records], columns=list(COLUMNS)))


def read(csv: Path | str) -> pd.DataFrame:
    """The file that `hpltune export csv` wrote, with the types of `frame`; an empty text is missing there too."""
    return _typed(pd.read_csv(csv, dtype={name: _PANDAS[kind] for name, kind in COLUMNS.items()}))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    for name, kind in COLUMNS.items():
        if name in _TIMES:
            table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601")
        else:
            table[name] = table[name].astype(_PANDAS[kind])
    return table
