"""`hpltune export parquet`: other programs open it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from results.errors import ResultsError
from results.export.frame import frame
from results.record import Invalidity, Kind, TrialRecord, TrialState
from results.store.store import Store
from tuner.commands.stored.export import parquet

RECORDS = [
    finished(1, 70.0, params={"NB": 128, "grid": "1x2", "mpi.eager": 4096}, key="a"),
    finished(2, 80.0, params={"NB": 192, "grid": "2x1", "mpi.eager": 8192}, key="b"),
    finished(3, 9.0, params={"NB": 192, "grid": "2x1"}, key="b", kind=Kind.SMALL, part=0.3),
    finished(
        4, 85.0, params={"NB": 192, "grid": "2x1"}, key="c", passed=False, residual=99.0,
        state=TrialState.FAILED, invalidity=Invalidity.CORRECTNESS, reason="the residual check FAILED (99.0)",
    ),
]  # fmt: skip


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        opened.create_study(a_study())
        for record in RECORDS:
            opened.finish(_numbered(record, opened.begin(begun(key=record.key, params=record.params))))
        opened.end_study("study", "complete")
        yield opened


def _numbered(record: TrialRecord, number: int) -> TrialRecord:
    assert record.number == number
    return record


def test_a_parquet_file_has_the_types_units_and_facts_of_the_study(store: Store, home: Path) -> None:
    import pandas as pd

    (home / "study.parquet").write_bytes(parquet(store, None))
    table = pd.read_parquet(home / "study.parquet")
    assert table["gflops"].tolist() == [70.0, 80.0, 9.0, 85.0]
    assert table.dtypes["passed"] == "boolean"
    assert table["mpi.eager"].dropna().tolist() == [4096, 8192]
    assert table["rank"].dropna().tolist() == [2, 1]
    assert [str(kind) for kind in table.dtypes[:3]] == [str(kind) for kind in frame(RECORDS).dtypes[:3]]
    assert table.attrs["units"]["time_s"] == "s"
    assert table.attrs["study"]["rpeak_gflops"] == 134.4
    assert table.attrs["study"]["versions"] == {"hpl": "2.3", "openblas": "0.3.21"}


def test_without_pyarrow_a_sentence_names_another_format(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ResultsError, match="needs pyarrow, which is not installed: take csv"):
        parquet(store, None)


@pytest.mark.usefixtures("store")
def test_a_user_names_a_file_for_parquet(hpltune: Run, home: Path) -> None:
    assert hpltune("export", "parquet", "-o", "study.parquet").stdout == "wrote study.parquet\n"
    assert (home / "study.parquet").read_bytes()[:4] == b"PAR1"
    assert "cannot write /dev/full: No space left" in hpltune("export", "parquet", "-o", "/dev/full").stderr
