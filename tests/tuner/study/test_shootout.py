"""A comparison of BLAS libraries: what it searches, confirms and tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from record_builders import DISTURBED, QUIET, a_study, begun, finished
from report_reading import printed

from results.record import IMPORT, REPLAY_OF, SIMULATOR
from results.report.model import Report
from results.stats.ranking import Ranked, rank
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from tuner.commands.stored.export import export_study
from tuner.reports.summary import StudySummary
from tuner.study.objective import Objective, ranking_of
from tuner.study.shootout import best_of_each, repeated, small_n, with_rivals

MACHINE = Machine(
    cores=2,
    memory_bytes=2**34,
    blas={
        "openblas": BlasFacts(("SkylakeX", "Haswell")),
        "blis": BlasFacts(("skx",)),
        "atlas": BlasFacts(("auto",), False),
    },
    N=6000,
)


def test_the_space_blas_has_every_layout_grid_and_kernel_of_each_library_and_its_own_choice() -> None:
    found = {(point["blas"], point["kernel"], point["layout"], point["grid"]) for point in load("blas", MACHINE)}
    kernels = {"openblas": ("SkylakeX", "Haswell", "auto"), "blis": ("skx", "auto"), "atlas": ("auto",)}
    starts = (("2x1", "1x2"), ("2x1", "2x1"), ("1x2", "1x1"))
    assert found == {
        (blas, kernel, layout, grid)
        for blas, own in kernels.items()
        for kernel in own
        for layout, grid in starts
        if blas != "atlas" or layout == "2x1"
    }


def test_other_spaces_have_a_librarys_own_choice_only_where_it_is_none_of_its_kernels() -> None:
    assert {point["kernel"] for point in load("quick", MACHINE) if point["blas"] == "blis"} <= {"skx"}


def entry(blas: str, *gflops: float, NB: int = 128) -> Ranked:
    return Ranked(f"{blas}{NB}", {"blas": blas, "NB": NB, "N": 6000}, gflops, 1)


def test_the_best_of_each_library_is_confirmed_but_not_of_those_half_as_fast() -> None:
    ranking = [entry("openblas", 99.0), entry("openblas", 98.0, NB=64), entry("blis", 80.0), entry("blis", 70.0, NB=64)]
    ranking += [entry("mkl", 60.0), entry("reference", 6.0)]
    found = with_rivals(Objective.of("gflops", a_study()), ranking[:2], ranking)
    assert [(one.params["blas"], one.params["NB"]) for one in found] == [
        ("openblas", 128),
        ("openblas", 64),
        ("blis", 128),
        ("mkl", 128),
    ]


@pytest.mark.parametrize(("N", "memory_n", "small"), [(2240, 46464, True), (12160, 46464, False), (2240, None, False)])
def test_an_n_far_below_that_of_the_memory_is_told(N: int, memory_n: int | None, *, small: bool) -> None:
    sentence = small_n(N, memory_n)
    assert bool(sentence) is small
    assert sentence is None or "N=2240 is small: the memory holds N=46464" in sentence


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A study of two libraries at N = 6000 where the memory holds several times that."""
    with Store.open(tmp_path / "hpltune.db") as opened:
        host = {
            "memory_available_bytes": 2**35,
            "memory_total_bytes": 2**36,
            "physical_cores": 8,
            "cpu_model": "Intel Xeon",
        }
        versions = {"hpl": "2.3", "blas openblas": "openblas 0.3.21"}
        opened.create_study(a_study(host=host, versions=versions, options={"memory_fraction": 0.8}))
        runs = {("openblas", 128, "8x1"): (95.2, 95.3), ("openblas", 64, "8x1"): (80.0,), ("blis", 256, "4x2"): (90.0,)}
        for (blas, NB, layout), rates in runs.items():
            params = {"blas": blas, "NB": NB, "layout": layout, "N": 6000}
            for rate in rates:
                key = f"{blas}{NB}"
                opened.finish(finished(opened.begin(begun(key=key)), rate, params=params, key=key))
        yield opened


TOLD = (
    ": layout=4x2 NB=256.",
    "1 of 3 configurations were repeated (openblas 1 of 2, blis 0 of 1). The best of blis ran once.",
    "N=6000 is small: the memory holds N=58368, where another library may be the fastest: give",
)


def test_best_and_tune_say_where_each_library_stands_what_was_repeated_and_whether_n_is_small(store: Store) -> None:
    study = store.study("study")
    found = StudySummary.of(study, ranking_of(store, study))
    told = printed(Report("", tuple(found.parts(5))), 300)
    assert "The best with blis is in place 2 with 90" in told
    assert [words for words in TOLD if words not in told] == []
    lines = found.to_json()["by_blas"]
    assert isinstance(lines, list)
    assert [(line["blas"], line["runs"], line["configurations"], line["repeated"]) for line in lines] == [
        ("openblas", 2, 2, 1),
        ("blis", 1, 1, 0),
    ]


def test_a_best_of_which_one_run_counts_is_told_beside_its_disturbed_runs() -> None:
    def ran(blas: str, gflops: float, left_out: int = 0) -> Ranked:
        return Ranked(blas, {"blas": blas, "NB": 64}, (gflops,), 1, left_out=left_out)

    ranking = [ran("openblas", 95.0, left_out=2), ran("blis", 90.0), ran("mkl", 80.0, left_out=1)]
    told = repeated(best_of_each(Objective.of("gflops", a_study()), ranking, None))
    assert told == (
        "2 of 3 configurations were repeated (openblas 1 of 1, blis 0 of 1, mkl 1 of 1). "
        "The best of openblas ran undisturbed once, beside 2 disturbed ones. The best of blis ran once. "
        "The best of mkl ran undisturbed once, beside 1 disturbed one."
    )


def test_of_a_library_whose_runs_were_all_disturbed_nobody_is_told_how_far_it_is_behind() -> None:
    openblas, blis = ({"blas": name, "NB": 64} for name in ("openblas", "blis"))
    quiet = finished(1, 45.0, params=openblas, key="a", measurements=QUIET)
    ranking = rank([quiet, finished(2, 8.0, params=blis, key="b", measurements=DISTURBED)])
    found = StudySummary(a_study(), Objective.of("gflops", a_study()), ranking)
    told = printed(Report("", tuple(found.parts(5))), 300)
    assert "The best with blis is in place 2 with at least 8.00 GFLOPS" in told
    assert "its only run was disturbed, so how far it is behind cannot be told." in told
    assert "% behind" not in told


def test_the_short_answer_names_the_runs_where_all_were_disturbed() -> None:
    runs = [finished(number, gflops, measurements=DISTURBED) for number, gflops in enumerate((45.0, 11.0), start=1)]
    found = StudySummary(a_study(), Objective.of("gflops", a_study()), rank(runs))
    assert found.best_in_short() == (
        "at least 45.00 GFLOPS, 33.5 % of peak: the fastest of 2 runs, 11.00 to 45.00, all disturbed."
    )


@pytest.mark.parametrize(
    ("made", "how"), [({"engine": IMPORT}, "imported"), ({"versions": {SIMULATOR: f"{REPLAY_OF}bl.csv"}}, "replayed")]
)
def test_the_short_answer_says_where_the_rate_was_imported_or_replayed(made: Any, how: str) -> None:
    found = StudySummary(a_study(**made), Objective.of("gflops", a_study()), rank([finished(1, 45.0)]))
    assert f"45.00 GFLOPS, 33.5 % of peak, {how}: " in found.best_in_short()


def test_of_programs_that_share_a_library_each_ones_place_is_told() -> None:
    def ran(program: str, blas: str, gflops: float) -> Ranked:
        return Ranked(program + blas, {"program": program, "blas": blas, "NB": 64}, (gflops,), 1)

    ranking = [ran("netlib", "openblas", 95.0), ran("hpcc", "openblas", 90.0), ran("netlib", "blis", 80.0)]
    found = StudySummary(a_study(), Objective.of("gflops", a_study()), ranking)
    told = printed(Report("", tuple(found.parts(5))), 300)
    assert "The best with program hpcc is in place 2 with 90.00 GFLOPS, 5.3 % behind" in told
    lines = found.to_json()["by_program"]
    assert isinstance(lines, list)
    assert [(line["program"], line["place"], line["params"]) for line in lines] == [("netlib", 1, {}), ("hpcc", 2, {})]
    alone = [ran("netlib", "openblas", 95.0), ran("vendor", "vendor", 90.0)]
    assert "by_program" not in StudySummary(a_study(), Objective.of("gflops", a_study()), alone).to_json()


def test_the_exported_table_has_what_its_reader_must_know(store: Store) -> None:
    table, *below = "".join(export_study(store, "md")).split("\n\n")
    assert table.startswith("| rank |")
    text = "\n".join(below)
    assert "No. 1 is the fastest with" in text
    assert "The best with blis is in place 2" in text
    assert [words for words in TOLD if words not in text] == []
    assert "N = 6,000, engine" in text
    assert "Machine: Intel Xeon, 8 cores, 64.0 GiB, Rpeak 134.4 GFLOPS." in text
    assert "Versions: hpl 2.3, blas openblas openblas 0.3.21." in text
