"""`hpltune plot`: figures of a study as pictures."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.params import HplParams
from results.record import Kind, TrialRecord
from results.report.model import Figure
from results.report.picture import PictureSize
from results.stats.ranking import Ranked
from results.store.store import Store
from tuner.commands.stored.plot import PlotRequest, list_kinds, plot
from tuner.errors import TunerError, UsageError
from tuner.reports.figures.best_nb import best_nb
from tuner.reports.figures.libraries import libraries
from tuner.reports.figures.repeats import repeats
from tuner.reports.story import convergence

BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def run(number: int, gflops: float, NB: int = 128, **params: str) -> TrialRecord:
    values = {"N": 6000, "NB": NB, "grid": "1x2", "blas": "openblas", **params}
    record = finished(number, gflops, key=f"{values}", params=values, hpl=HplParams(6000, NB, 1, 2))
    return replace(record, kind=Kind.SEARCH, started_at=record.started_at + timedelta(minutes=number))


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        opened.create_study(a_study(space_text=""))
        for place, NB in enumerate((64, 128, 192), start=1):
            record = run(place, 50.0 + place, NB)
            number = opened.begin(begun(key=record.key, params=record.params))
            opened.finish(replace(record, number=number))
        opened.end_study("study", "complete")
        yield opened


@pytest.mark.parametrize("ending", BEGINS)
@pytest.mark.parametrize("kind", ["convergence", "nb", "ranking"])
def test_a_figure_becomes_a_picture_of_the_kind_that_its_name_says(
    store: Store, home: Path, kind: str, ending: str
) -> None:
    drawn = plot(store, PlotRequest(kind, home / f"figure{ending}", size=PictureSize(8, 80)))
    assert drawn.out.read_bytes().startswith(BEGINS[ending])


def test_the_list_says_which_figures_can_be_drawn(store: Store) -> None:
    there = {kind.name: there for kind, there in list_kinds(store).kinds}
    assert there == {
        "convergence": True, "libraries": False, "nb": True, "size": False, "phases": False, "timeline": False,
        "parallel": False, "repeats": False,
        "ranking": True, "front": False, "effects": False, "values": False, "messages": False, "conditions": False,
        "pair": False,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["convergence", "nb", "ranking"])
def test_every_picture_says_machine_study_date_n_and_runs(store: Store, home: Path, kind: str) -> None:
    store.note_host("study", {"cpu_model": "AMD EPYC", "physical_cores": 2, "hypervisor": True})
    drawn = plot(store, PlotRequest(kind, home / "figure.svg")).figures[0]
    assert drawn.origin == ("AMD EPYC, virtual machine, 2 cores; study study (2026-03-01); N=6,000; 3 valid full runs.")
    assert drawn.caption


@pytest.mark.parametrize(
    ("kind", "file", "error", "sentence"),
    [
        ("pie", "pie.png", UsageError, "there is no figure pie: there are convergence, libraries, .* and pair"),
        ("nb", "nb.gif", UsageError, "nb.gif: the name of a picture ends in .png, .svg or .pdf"),
        ("nb", "page.txt/nb.png", TunerError, "cannot write .*: what should be its folder is a file"),
        ("repeats", "r.png", TunerError, "study study has nothing to draw repeats from: it needs a repeated run"),
        ("timeline", "t.png", TunerError, "trial 3 of study study has nothing to draw a timeline from: it needs a sim"),
    ],
)
def test_a_mistake_is_one_sentence(
    store: Store, home: Path, kind: str, file: str, error: type[Exception], sentence: str
) -> None:
    (home / "page.txt").touch()
    with pytest.raises(error, match=sentence):
        plot(store, PlotRequest(kind, home / file))
    assert not (home / file).exists()


def test_each_library_and_kernel_has_a_line_of_runs_that_differ_in_nb_alone() -> None:
    records = [run(1, 50.0), run(2, 55.0), run(3, 52.0, 256), run(4, 30.0, blas="blis", kernel="zen3")]
    drawn = best_nb(records)
    assert isinstance(drawn, Figure)
    assert [(one.name, one.x, one.y, one.line) for one in drawn.series] == [
        ("openblas", (128, 256), (52.5, 52.0), True),
        ("blis, zen3", (128,), (30.0,), False),
    ]
    line = drawn.series[0]
    assert (line.low, line.high) == ((50.0, 52.0), (55.0, 52.0))
    assert "its band is from the slowest to the fastest" in drawn.caption
    assert best_nb(records[:2]) is None


def test_no_line_joins_runs_that_differ_in_more_than_nb() -> None:
    slow, other = run(1, 2.85, 128, layout="2x1"), run(2, 13.0, 96, layout="1x2")
    drawn = best_nb([slow, other])
    assert drawn is not None
    assert [(one.name, one.x, one.line) for one in drawn.series] == [("openblas", (96, 128), False)]
    drawn = best_nb([slow, other, run(3, 12.5, 192, layout="1x2")])
    assert drawn is not None
    joined, rest = drawn.series
    assert (joined.x, joined.y, joined.line) == ((96, 192), (13.0, 12.5), True)
    assert (rest.x, rest.y, rest.line, rest.behind) == ((128,), (2.85,), False, True)


def test_libraries_that_were_searched_one_after_another_do_not_share_a_best_so_far() -> None:
    runs = [run(1, 9.0), run(2, 4.0, blas="blis"), run(3, 10.0), run(4, 5.0, blas="blis")]
    drawn = convergence(runs, by_library=True)
    assert drawn is not None
    assert [(one.name, one.y) for one in drawn.series] == [("openblas", (9.0, 10.0)), ("blis", (4.0, 5.0))]
    assert drawn.series[0].x == pytest.approx((3.25 / 60, 6.5 / 60))


def ranked(blas: str, *gflops: float, **params: str) -> Ranked:
    interval = (gflops[0] - 2, gflops[0] + 2) if len(gflops) > 2 else None
    return Ranked(f"{blas}{gflops}", {"blas": blas, **params}, gflops, 1, interval_gflops=interval)


def test_error_bars_of_libraries_mean_the_same_for_each_and_the_caption_says_what() -> None:
    entries = [
        ranked("openblas", 60.0, 61.0, 59.0, layout="2x1"),
        ranked("openblas", 50.0, layout="1x2"),
        ranked("blis", 40.0, 42.0, layout="1x2"),
        ranked("atlas", 20.0, layout="2x1"),
    ]
    drawn = libraries(a_study(), entries)
    assert drawn is not None
    (bars,) = drawn.series
    assert dict(zip(bars.x, zip(bars.y, bars.low, bars.high, strict=True), strict=True)) == {
        "openblas": (60.0, 59.0, 61.0),
        "blis": (41.0, 40.0, 42.0),
        "atlas": (20.0, pytest.approx(math.nan, nan_ok=True), pytest.approx(math.nan, nan_ok=True)),
    }
    assert bars.labels == ("layout=2x1, 3 runs", "layout=1x2, 2 runs", "layout=2x1, 1 run")
    assert drawn.caption == (
        "Error bars are from the slowest to the fastest run; where one run counts there is none. "
        "Runs of each, from above: 3, 2, 1."
    )
    assert libraries(a_study(), entries[:2]) is None
    sure = libraries(a_study(), [entries[0], entries[3]])
    assert sure is not None
    assert (sure.series[0].low[0], sure.series[0].high[0]) == (58.0, 62.0)
    assert sure.caption.startswith("Error bars are 95 % intervals of the rate.")


def test_libraries_are_told_apart_by_mpi_only_where_a_study_has_several() -> None:
    entries = [ranked("blis", 40.0, mpi="mpich"), ranked("blis", 30.0, mpi="openmpi")]
    drawn = libraries(a_study(), entries)
    assert drawn is not None
    assert drawn.series[0].x == ("blis, mpich", "blis, openmpi")


def test_repeats_are_shown_against_the_median_of_their_configuration() -> None:
    drawn = repeats([run(1, 100.0), run(2, 60.0, 256), run(3, 98.0), run(4, 102.0)])
    assert drawn is not None
    (series,) = drawn.series
    assert series.name == "trial 1 and its repeats"
    assert series.y == pytest.approx((0.0, -2.0, 2.0))
    assert series.x == pytest.approx((0.0, 2.0, 3.0))


@pytest.mark.usefixtures("store")
def test_a_user_draws_a_figure_and_is_told_what_there_is(hpltune: Run, home: Path) -> None:
    assert "nb" in hpltune("plot").stdout
    done = hpltune("plot", "nb", "study", "-o", "nb.pdf")
    assert done.stdout == "Wrote nb.pdf.\n"
    assert (home / "nb.pdf").exists()
    refused = hpltune("plot", "-o", "nb.pdf")
    assert refused.returncode == 2
    assert "`hpltune plot` lists them" in refused.stderr
