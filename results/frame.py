"""Trials as a pandas data frame; the only module that imports pandas."""

from collections.abc import Sequence

import pandas as pd

from .export import COLUMNS, flat
from .record import TrialRecord


def frame(records: Sequence[TrialRecord]) -> pd.DataFrame:
    """One row a trial, in the columns of the CSV export, with the types pandas finds fitting.

    Missing figures are missing values, never zeros; times are time-zone aware.
    """
    table = pd.DataFrame([flat(record) for record in records], columns=list(COLUMNS)).convert_dtypes()
    for name in ("started_at", "ended_at"):
        table[name] = pd.to_datetime(table[name], utc=True, format="ISO8601")
    return table
