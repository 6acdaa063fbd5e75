"""`hpltune plot`: figures of a study as pictures."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from as_user import Run
from golden import hold_scene, told
from record_builders import a_study, add_facts, begun, finished
from report_reading import as_json

from hpl.params import HplParams
from results.record import Kind, TrialRecord
from results.report.model import Figure, Report
from results.report.picture import PictureSize
from results.stats.ranking import Ranked
from results.store.store import Store
from tuner.commands.stored.plot import list_kinds, plot
from tuner.reports.figures.best_nb import best_nb
from tuner.reports.figures.libraries import libraries
from tuner.reports.figures.repeats import repeats
from tuner.reports.figures.runs import growth_of_study

BEGINS = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}


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
    plot(store, kind).write(file := home / f"figure{ending}", PictureSize(8, 80))
    assert file.read_bytes().startswith(BEGINS[ending])


def ranked(blas: str, *gflops: float, **params: str) -> Ranked:
    interval = (gflops[0] - 2, gflops[0] + 2) if len(gflops) > 2 else None
    return Ranked(f"{blas}{gflops}", {"blas": blas, **params}, gflops, 1, interval_gflops=interval)


@pytest.mark.usefixtures("store")
def test_a_user_draws_a_figure_and_is_told_what_there_is(hpltune: Run, home: Path) -> None:
    assert "nb" in hpltune("plot").stdout
    done = hpltune("plot", "nb", "study", "-o", "nb.pdf")
    assert done.stdout == "Wrote nb.pdf.\n"
    assert (home / "nb.pdf").exists()


LIBRARIES = [
    ranked("openblas", 60.0, 61.0, 59.0, layout="2x1"),
    ranked("openblas", 50.0, layout="1x2"),
    ranked("blis", 40.0, 42.0, layout="1x2"),
    ranked("atlas", 20.0, layout="2x1"),
]
NBS = [run(1, 50.0), run(2, 55.0), run(3, 52.0, 256), run(4, 30.0, blas="blis", kernel="zen3")]
APART = [run(1, 2.85, 128, layout="2x1"), run(2, 13.0, 96, layout="1x2"), run(3, 12.5, 192, layout="1x2")]
AFTER = [run(1, 9.0), run(2, 4.0, blas="blis"), run(3, 10.0), run(4, 5.0, blas="blis")]
SCENES: dict[str, Figure | None] = {
    "a line of runs that differ in NB alone": best_nb(NBS),
    "one NB is no line": best_nb(NBS[:2]),
    "no line joins runs that differ in more than NB": best_nb(APART[:2]),
    "those that a line joins stand before the others": best_nb(APART),
    "libraries that were searched after another": growth_of_study(a_study(options={"shootout": 1}), AFTER),
    "libraries with error bars of one kind": libraries(a_study(), LIBRARIES),
    "one library is no figure": libraries(a_study(), LIBRARIES[:2]),
    "libraries with intervals": libraries(a_study(), [LIBRARIES[0], LIBRARIES[3]]),
    "two MPI libraries": libraries(a_study(), [ranked("blis", 40.0, mpi="mpich"), ranked("blis", 30.0, mpi="openmpi")]),
    "repeats against their median": repeats([run(1, 100.0), run(2, 60.0, 256), run(3, 98.0), run(4, 102.0)]),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_figure_has_the_data_that_it_had(request: pytest.FixtureRequest, scene: str) -> None:
    drawn = SCENES[scene]
    looks = [f"{one.name}: {'line' if one.line else 'points'}" for one in drawn.series] if drawn else ["none"]
    hold_scene(request, "figures", SCENES, scene, "\n".join([told(Report("", (drawn,) if drawn else ())), *looks]))


def test_figures_of_a_study_are_listed_and_drawn_as_they_were(store: Store, request: pytest.FixtureRequest) -> None:
    add_facts(store, "study", {"cpu_model": "AMD EPYC", "physical_cores": 2, "hypervisor": True})
    there = [kind["kind"] for kind in as_json(list_kinds(store)) if kind["can_be_drawn"]]
    drawn = [plot(store, kind).figures[0] for kind in there]
    said = [f"{one.origin} {one.caption}" for one in drawn]
    scene = "those of a study"
    hold_scene(request, "figures_of_a_study", [scene], scene, "\n".join([told(list_kinds(store)), *said]))
