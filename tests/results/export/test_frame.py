from pathlib import Path

import pandas as pd
import pytest
from record_builders import begun, finished, to_csv

from results.columns import COLUMNS, TrialPlace
from results.export.frame import frame, read
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


def test_an_exported_file_is_read_with_the_same_types_and_its_times_as_times(tmp_path: Path) -> None:
    records = [finished(1, 75.0, params={"NB": 192, "net.mtu": 9000}), begun(number=2)]
    (tmp_path / "study.csv").write_text(to_csv(records, {1: TrialPlace(1, 74.9, 50.1)}))
    table = read(tmp_path / "study.csv")
    own = frame(records).replace("", pd.NA)
    placed = ["rank", "expected_gflops", "percent_of_peak"]
    pd.testing.assert_frame_equal(table[list(COLUMNS)].drop(columns=placed), own.drop(columns=placed))
    assert table[placed].iloc[0].tolist() == [1, 74.9, 50.1]
    assert table[placed].iloc[1].isna().all()
    assert table["net.mtu"].iloc[0] == 9000
