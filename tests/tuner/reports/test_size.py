"""The rate against N, with what was predicted of the whole memory and a run there."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.params import HplParams, Scalar
from results.record import Kind, StudyNotes, TrialRecord
from results.report.model import Sentence
from results.store.store import Store
from tuner.commands.stored.report import figure_source, page_of
from tuner.reports.figures.size import size
from tuner.study.names import TEXTBOOK
from tuner.study.sizing.extrapolation import Extrapolation
from tuner.study.sizing.prediction import NOT_MEASURED, NotedPrediction, RivalInTurn, note_prediction

FULL = Extrapolation(
    N=20_000, coefficients=(1e-11, 1e-9, 0.0), time_s=88.9, gflops=60.0, gflops_range=(55.0, 65.0), largest_n=6000
)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """A study with a best trial, no. 1, a smaller run of it, and a prediction of the whole memory."""
    with Store.open(home / "data/hpltune.db") as opened:
        opened.create_study(a_study(space_text=""))
        keep(opened, "study", 6000, 50.0, Kind.SEARCH)
        keep(opened, "study", 3000, 40.0, Kind.EXTRAPOLATION)
        note_prediction(opened, "study", NotedPrediction(FULL, 1))
        opened.end_study("study", "complete")
        yield opened


def keep(store: Store, study: str, N: int, gflops: float, kind: Kind = Kind.RUN, NB: int = 192) -> None:
    params: dict[str, Scalar] = {**begun(study).params, "N": N, "NB": NB}
    number = store.begin(begun(study, params=params))
    store.finish(replace(finished(number, gflops, study, hpl=HplParams(N, NB, 1, 2), params=params), kind=kind))


def confirm(store: Store, name: str, like: str, gflops: float, NB: int = 192) -> None:
    """Keep a run at the whole memory, like some trial."""
    store.create_study(a_study(name, space_text="", engine="run", host={}, notes=StudyNotes(like=like)))
    keep(store, name, FULL.N, gflops, NB=NB)
    store.end_study(name, "complete")


def best(store: Store) -> TrialRecord:
    return store.get("study", 1)


def test_the_prediction_has_its_interval_and_the_curve_that_it_comes_from(store: Store) -> None:
    drawn = size(store.records("study"), best(store), NotedPrediction(FULL, 1))
    assert drawn is not None
    runs, curve, predicted = drawn.series
    assert runs.x == (3000.0, 6000.0)
    assert (curve.x[0], curve.x[-1]) == (3000.0, 20_000.0)
    assert curve.y[-1] == pytest.approx(60.0, rel=0.02)
    assert (predicted.x, predicted.y, predicted.low, predicted.high) == ((20_000.0,), (60.0,), (55.0,), (65.0,))


def test_a_prediction_that_the_runs_cannot_tell_is_not_drawn(store: Store) -> None:
    drawn = size(store.records("study"), best(store), NotedPrediction(replace(FULL, can_tell=False), 1))
    assert drawn is not None
    assert [series.name for series in drawn.series] == ["runs"]


@pytest.mark.parametrize(("gflops", "where"), [(58.0, "within"), (50.0, "below"), (70.0, "above")])
def test_a_run_there_is_drawn_and_judged(store: Store, gflops: float, where: str) -> None:
    confirm(store, "run-HPL-full-1", "study#1", gflops)
    source = figure_source(store, store.study("study"))
    drawn = size(source.records, best(store), source.predicted, source.confirmed)
    assert drawn is not None
    assert (drawn.series[-1].x, drawn.series[-1].y) == ((20_000.0,), (gflops,))
    said = [part.text for part in page_of(store, store.study("study")).report().parts if isinstance(part, Sentence)]
    assert any(text.startswith("The whole memory holds N=20000: expect about") for text in said)
    assert f"A run there gave {gflops:.2f} GFLOPS, {where} that range." in said


MEASURED = NotedPrediction(FULL, 1, "NB=256", 12_000, 58.0, (RivalInTurn(3, TEXTBOOK, 50.0, 0.1),))
GAIN = "In turn at N=12000, NB=256 gave 58 GFLOPS, 16.0% more than the textbook (50)"


@pytest.mark.parametrize(("noted", "said"), [(MEASURED, GAIN), (NotedPrediction(FULL, 1), NOT_MEASURED)])
def test_every_face_says_what_was_measured_against_the_textbook_and_where(
    store: Store, hpltune: Run, tmp_path: Path, noted: NotedPrediction, said: str
) -> None:
    note_prediction(store, "study", noted)
    page, asked = tmp_path / "page.html", hpltune("best", "study", "--json")
    assert asked.returncode == 0, asked.stderr
    faces = {
        "best": hpltune("best", "study").stdout,
        "best --html": hpltune("best", "study", "--html", str(page)).stderr + page.read_text("utf-8"),
        "report": hpltune("report", "study", "-o", str(page)).stderr + page.read_text("utf-8"),
        "best --json": json.loads(asked.stdout)["full"]["against_textbook"],
    }
    assert [name for name, text in faces.items() if said not in " ".join(unescape(text).split())] == []
    told = [re.findall(r"[\d.]+% (?:more|less) than the textbook", text) for text in faces.values()]
    assert all(set(gains) == set(re.findall(r"[\d.]+% more than the textbook", said)) for gains in told)


def test_only_a_run_like_the_best_with_the_same_parameters_counts(store: Store) -> None:
    confirm(store, "run-HPL-full-1", "other#1", 58.0)
    confirm(store, "run-HPL-full-2", "study#7", 58.0)
    confirm(store, "run-HPL-full-3", "study#1", 58.0, NB=64)
    assert figure_source(store, store.study("study")).confirmed == []


def test_what_is_predicted_of_a_slower_configuration_of_the_study_is_told_of_that_one(store: Store) -> None:
    keep(store, "study", 12_000, 55.0, Kind.EXTRAPOLATION, NB=256)
    note_prediction(store, "study", NotedPrediction(FULL, 3))
    confirm(store, "run-HPL-full-1", "study#3", 58.0, NB=256)
    source = figure_source(store, store.study("study"))
    assert source.first is not None
    assert source.first.number == 3
    assert [run.gflops for run in source.confirmed] == [58.0]
