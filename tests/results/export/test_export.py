import csv
import io

import pytest
from record_builders import begun, finished, to_csv

from hpl.dat_parse import parse
from results.columns import COLUMNS
from results.errors import ResultsError
from results.export.csv_lines import to_hpl_dat
from results.record import Invalidity, TrialState


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_the_parameters_that_are_none_of_hpl_dat_behind_all_else() -> None:
    with_mtu = finished(1, params={"NB": 192, "mpi": "mpich", "net.mtu": 9000})
    text = to_csv([with_mtu, finished(2, params={"NB": 192, "layout": "2x1"})])
    assert text.startswith(",".join([*COLUMNS, "layout", "mpi", "net.mtu"]) + "\n")
    assert [(row["mpi"], row["net.mtu"], row["layout"]) for row in read(text)] == [
        ("mpich", "9000", ""),
        ("", "", "2x1"),
    ]


def test_in_csv_what_is_missing_or_not_finite_is_empty() -> None:
    broken = finished(2, float("nan"), residual=float("inf"), passed=False)
    for row in read(to_csv([begun(number=1), broken])):
        assert row["gflops"] == row["residual"] == ""
    text = to_csv([begun(number=1), broken]).lower()
    assert "nan" not in text
    assert "inf" not in text
    assert "none" not in text


def test_csv_keeps_commas_quotes_line_ends_and_umlauts() -> None:
    reason = 'größer, "quoted"\nand on two lines'
    assert read(to_csv([finished(1, reason=reason)]))[0]["reason"] == reason


def test_csv_can_always_be_written_as_utf_8() -> None:
    assert "caf\\udce9" in to_csv([finished(1, directory="caf\udce9")]).encode().decode()


def test_the_hpl_dat_of_a_trial_is_the_file_it_ran() -> None:
    assert to_hpl_dat(finished(1, hpl_dat="as it was")) == "as it was"


def test_without_the_file_an_hpl_dat_asks_for_the_same() -> None:
    record = finished(1, hpl_dat="")
    assert list(parse(to_hpl_dat(record)).runs()) == [record.hpl]


def test_a_trial_without_parameters_has_no_hpl_dat() -> None:
    record = begun(
        number=4, state=TrialState.FAILED, invalidity=Invalidity.CONSTRAINTS, reason="N = 9e9 is over memory"
    )
    with pytest.raises(ResultsError, match=r"trial 4 of study study has no HPL\.dat: N = 9e9 is over memory"):
        to_hpl_dat(record)
