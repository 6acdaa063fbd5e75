"""Two parameters of a study against each other."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer
from engine_contract import CONDITIONAL, LARGE, space_of
from explain_builders import SWAPPING, keep, records, searched, trap
from report_reading import as_json, printed

from results.record import Study
from results.report.model import Report
from results.store.store import Store
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.cli.explain import complete_pair
from tuner.commands.stored.explain import explain_study
from tuner.errors import TunerError
from tuner.explain.pairs import Crossing, parse_pair
from tuner.explain.taught_study import TaughtStudy
from tuner.reports.pairs import crossing_parts

LIBRARIES = """
[parameters]
layout = "4x1"
blas = ["openblas", "blis"]
NB = [128, 192, 256]
DEPTH = [0, 1]
"""


def of_its_own(point: Point) -> float:
    """Each library has an NB of its own, at which it is a tenth faster."""
    return 100.0 * (1.1 if point["NB"] == {"openblas": 192, "blis": 256}[str(point["blas"])] else 1.0)


def crossed(space: SearchSpace, rate: object, one: str, other: str, count: int = 60) -> Crossing:
    return TaughtStudy(space, records(space, rate, count)).crossing((one, other))  # type: ignore[arg-type]


def searched_libraries(store: Store, *, count: int = 12) -> Study:
    study = replace(searched("default"), space_text=LIBRARIES)
    keep(store, study, records(space_of(LIBRARIES), of_its_own, count))
    return study


def test_the_best_value_of_each_by_the_other_is_found() -> None:
    found = crossed(space_of(LIBRARIES), of_its_own, "NB", "blas")
    assert (found.ones, found.others) == ((128, 192, 256), ("openblas", "blis"))
    assert [choice.value for choice in found.best_one] == [192, 256]
    assert [choice.value for choice in found.best_other][1:] == ["openblas", "blis"]
    assert all(choice.sure > 0.9 for choice in found.best_one)
    for row, best in zip(found.percent, (None, "openblas", "blis"), strict=True):
        for percent, blas in zip(row, found.others, strict=True):
            assert percent == pytest.approx(0 if blas == best else -100 / 11, abs=1)
    assert found.runs == ((2, 2), (2, 2), (2, 2))
    assert found.together is not None
    assert found.together.h > 0.5


def test_the_other_way_round_it_is_the_same_matrix_turned() -> None:
    space = space_of(LIBRARIES)
    found, turned = crossed(space, of_its_own, "NB", "blas"), crossed(space, of_its_own, "blas", "NB")
    assert turned.percent == tuple(zip(*found.percent, strict=True))
    assert turned.best_one == found.best_other


def test_combinations_that_are_not_legal_are_left_out() -> None:
    found = crossed(space_of(CONDITIONAL), lambda point: 100 + float(point["NB"]) / 10, "kernel", "blas")
    known = {
        (one, other)
        for one, row in zip(found.ones, found.percent, strict=True)
        for other, percent in zip(found.others, row, strict=True)
        if percent is not None
    }
    assert ("Haswell", "openblas") in known
    assert ("Haswell", "blis") not in known


@pytest.mark.heavy
def test_of_a_space_too_large_to_hold_every_combination_is_told() -> None:
    def rate(point: Point) -> float:
        return 100.0 + float(point["NB"]) / 5 + 10 * (point["BCAST"] == "LnM") + 5 * (point["SWAP"] == "mix")

    found = crossed(space_of(LARGE), rate, "NB", "BCAST", 80)
    assert len(found.ones) == 12
    assert len(found.others) == 6
    cells = [percent for row in found.percent for percent in row]
    assert all(percent is not None and percent <= 0 for percent in cells)
    assert {choice.value for choice in found.best_one} == {240}
    assert {choice.value for choice in found.best_other} == {"LnM"}


def test_where_one_parameter_varies_there_is_no_pair() -> None:
    with pytest.raises(TunerError, match="only NB varies in this study, so there is no pair"):
        parse_pair("NB,grid", space_of("[parameters]\nNB = [32, 64]"))


def test_a_pair_may_have_spaces_around_its_comma() -> None:
    assert parse_pair("SWAP, NB", space_of(SWAPPING)) == ("SWAP", "NB")


def matrix(crossing: Crossing, width: int) -> str:
    return printed(Report("", tuple(crossing_parts(searched("default"), crossing))), width)


@pytest.mark.heavy
def test_the_matrix_is_whole_in_a_narrow_terminal() -> None:
    space = space_of(LARGE)
    found = crossed(space, lambda point: 100 + float(point["NB"]) / 10, "BCAST", "NB", 60)
    narrow = matrix(found, 60)
    assert max(len(line) for line in narrow.splitlines() if line.startswith(("┏", "┃", "│", "└"))) <= 60
    assert "…" not in narrow
    for word in ("NB \\ BCAST", "best NB", "best BCAST", "240 (", "1rg", "LnM"):
        assert word in narrow


def test_what_no_run_had_stands_in_brackets() -> None:
    space = space_of(SWAPPING)
    some = [
        record for record in records(space, trap, 80) if (record.params["NB"], record.params["SWAP"]) != (128, "bin")
    ]
    told = matrix(TaughtStudy(space, some).crossing(("NB", "SWAP")), 160)
    [row] = [line for line in told.splitlines() if line.startswith("│ 128 ")]
    assert row.count("(") == 2
    assert "Values in brackets are estimates; no run of those combinations counts." in told


def test_a_pair_as_json_is_the_matrix(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hpltune.db") as store:
        searched_libraries(store)
        explained = explain_study(store, "study", "NB,blas")
    assert isinstance(explained.found, Crossing)
    found = as_json(explained.report())
    assert (found["study"], found["one"], found["other"]) == ("study", "NB", "blas")
    assert [len(row) for row in found["percent"]] == [len(found["others"])] * len(found["ones"])
    assert 0 <= found["together"]["h_sd"] < 1


def test_pairs_of_a_study_are_completed(tmp_path: Path) -> None:
    place = tmp_path / "hpltune.db"
    with Store.open(place) as store:
        searched_libraries(store)
    context = cast("typer.Context", SimpleNamespace(params={"db": str(place), "study": "study"}))
    assert complete_pair(context, "N") == ["NB,blas", "NB,DEPTH"]
    assert complete_pair(context, "blas,D") == ["blas,DEPTH"]
    context.params["study"] = "none"
    assert complete_pair(context, "") == []
