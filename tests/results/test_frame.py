import pandas as pd
import pytest
from record_builders import begun, finished

from results.flat import COLUMNS
from results.frame import frame
from results.record import TrialRecord

TYPES = {
    "study": "string",
    "number": "Int64",
    "gflops": "Float64",
    "passed": "boolean",
    "BCAST": "string",
    "N": "Int64",
}


@pytest.mark.parametrize("records", [[], [begun(number=1)], [finished(1, 75.0), begun(number=2)]])
def test_columns_and_types_do_not_depend_on_the_records(records: list[TrialRecord]) -> None:
    table = frame(records)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == len(records)
    assert {name: str(table[name].dtype) for name in TYPES} == TYPES
    for name in ("started_at", "ended_at"):
        assert isinstance(table[name].dtype, pd.DatetimeTZDtype)


def test_what_is_missing_is_missing() -> None:
    table = frame([finished(1, 75.0), begun(number=2), finished(3, float("nan"))])
    assert table["gflops"].isna().tolist() == [False, True, True]
    assert table["ended_at"].isna().tolist() == [False, True, False]
    assert table["gflops"].median() == 75.0


def test_trials_can_be_grouped() -> None:
    table = frame([finished(1, 70.0, kernel="Haswell"), finished(2, 80.0), finished(3, 82.0)])
    assert table.groupby("kernel")["gflops"].median().to_dict() == {"Haswell": 70.0, "SkylakeX": 81.0}
