"""What people read of a study, also in a narrow terminal and whatever words it is made of."""

import csv
import io
import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from as_user import HPLTUNE, Run
from golden import hold_scene, told
from record_builders import START, a_study, begun, finished
from report_reading import as_json, printed

from hpl.params import HplParams
from results.record import Kind, StudyNotes, ToldCaution, TrialState
from results.report.model import Report, Rows, Table
from results.store.store import Store
from tuner.commands.stored.best import best_of_study
from tuner.commands.stored.export import export_study
from tuner.commands.stored.show import (
    show_studies,
    show_trial,
    show_trials,
)
from tuner.events import OTHERS
from tuner.reports.lists import Page
from tuner.study.cautions import note_cautions

WORDS = {"blas": "openblas", "kernel": "Cooperlake", "layout": "2x1", "RFACT": "crout", "BCAST": "2rM", "NBMIN": 16}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as opened:
        opened.create_study(a_study("default-of-the-cluster-1"))
        yield opened


def add(store: Store, gflops: float | None = 95.29, **changes: object) -> None:
    study, params = "default-of-the-cluster-1", changes.pop("params", WORDS)
    number = store.begin(begun(study, params=params))
    store.finish(finished(number, gflops, study, params=params, **changes))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_best_are_shown_whole_at_any_width(store: Store, width: int) -> None:
    for NB in (96, 128):
        params = {**WORDS, "NB": NB, "kernel": f"Cooperlake{NB}", "grid": f"1x{NB}", "SWAP": f"mix{NB}", "DEPTH": NB}
        add(store, 95.29 + NB, key=str(NB), params=params)
    shown = printed(best_of_study(store).report(), width)
    assert "…" not in shown
    for word in ("191.29", "223.29", "Cooperlake96", "1x128", "mix96", "% of peak"):
        assert word in shown


def facts_of_best(store: Store, count: int) -> Any:
    return as_json(best_of_study(store, count=count).report())


def exported(store: Store, kind: str) -> str:
    return "".join(export_study(store, kind))


def test_best_takes_the_newest_study_that_show_lists(store: Store) -> None:
    add(store)
    others: dict[str, Any] = {
        "run-1": {"space_text": ""},
        "default-1-blas": {"options": {"shootout": True}},
        "lesson": {"notes": StudyNotes(lesson="kronos")},
        "predict-b": {"versions": {"simulator": "SimGrid 3.32"}},
    }
    for day, (name, changes) in enumerate(others.items(), 1):
        store.create_study(a_study(name, created_at=START + timedelta(days=day), **changes))
        store.finish(finished(store.begin(begun(name)), 99.0, name))
    assert best_of_study(store).summary.study.name == "default-of-the-cluster-1"
    listed = show_studies(store)
    assert [line.study.name for line in listed.lines] == ["default-of-the-cluster-1"]
    assert listed.left_out == {"run": 1, "blas": 1, "learn": 1, "predict": 1}
    store.delete_study("default-of-the-cluster-1")
    assert best_of_study(store).summary.study.name == "predict-b"


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("arguments", [("show",), ("show", "--json"), ("export", "jsonl"), ("best",)])
def test_output_that_nobody_reads_is_no_error_of_ours(
    home: Path, store: Store, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    assert home.is_dir()
    add(store, output="HPL says a lot\n" * 10_000)
    command = [str(HPLTUNE), *arguments, "--db", str(tmp_path / "hpltune.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_a_damaged_trial_is_left_out_in_one_sentence_and_the_others_are_shown(hpltune: Run, home: Path) -> None:
    path = home / "data" / "hpltune.db"
    with Store.open(path) as store:
        store.create_study(a_study("default-of-the-cluster-1"))
        for rate in (70.0, 75.0, 80.0):
            add(store, rate, key=str(rate))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE trials SET params = '{' WHERE number = 3")
    sentence = "hpltune: trial 3 of study default-of-the-cluster-1 is damaged in the database: its column params"
    for command in (("best",), ("show", "default-of-the-cluster-1"), ("export", "csv"), ("export", "jsonl")):
        ran = hpltune(*command)
        assert ran.returncode == 0
        assert "75" in ran.stdout
        assert ran.stderr == f"{sentence} holds no JSON; it is left out\n"
    alone = hpltune("show", "default-of-the-cluster-1", "3")
    assert (alone.returncode, alone.stderr) == (1, f"{sentence} holds no JSON\n")


def test_an_export_has_the_place_that_best_shows(store: Store) -> None:
    for key, rates in {"a": (95.2, 95.3), "b": (90.0, 90.1), "c": (99.0,)}.items():
        for rate in rates:
            add(store, rate, key=key, params={"NB": ord(key)})
    add(store, None, key="c", params={"NB": ord("c")}, state=TrialState.FAILED, passed=None)
    ranking = facts_of_best(store, 9)["ranking"]
    shown = {(place, one["expected_gflops"], one["percent_of_peak"]) for place, one in enumerate(ranking, start=1)}
    rows = list(csv.DictReader(io.StringIO(exported(store, "csv"))))
    told = {(int(row["rank"]), float(row["expected_gflops"]), float(row["percent_of_peak"])) for row in rows[:5]}
    assert told == shown
    assert (rows[5]["rank"], rows[5]["expected_gflops"]) == ("", "")
    lines = [json.loads(line) for line in exported(store, "jsonl").splitlines()]
    assert {(one["rank"], one["expected_gflops"], one["percent_of_peak"]) for one in lines[:5]} == shown


def test_the_facts_of_many_trials_are_read_one_after_the_other(store: Store) -> None:
    for rate in (70.0, 75.0, 80.0):
        add(store, rate, key=str(rate))
    add(store, None, state=TrialState.FAILED, reason="it crashed", passed=None)
    name = "default-of-the-cluster-1"
    found = show_trials(store, name, page=Page(1, 1))
    (table,) = (part for part in found.parts if isinstance(part, Table))
    assert [row[0] for row in table.rows] == ["4"]
    assert isinstance(found.facts, Rows)
    assert [row["gflops"] for row in found.facts.read()] == [70.0, 75.0, 80.0, None]
    assert as_json(show_trials(store, name, failed=True))[0]["reason"] == "it crashed"


def test_all_studies_can_be_asked_for_at_once(store: Store) -> None:
    for number in range(25):
        store.create_study(a_study(f"more-{number}", space_text="" if number % 2 else "[parameters]"))
    found = show_studies(store, page=None, everything=True)
    assert len(found.lines) == found.known == len(as_json(found.report())) == 26
    assert (found.more, found.left_out) == (None, {})


def test_an_export_is_read_in_parts(store: Store) -> None:
    for rate in (70.0, 75.0):
        add(store, rate, key=str(rate))
    parts = export_study(store, "jsonl")
    assert json.loads(next(parts))["gflops"] == 70.0
    assert json.loads(next(parts))["gflops"] == 75.0
    assert next(parts, None) is None


def of_nb(*rates: tuple[int, float], **changes: Any) -> list[dict[str, Any]]:
    """Runs, each of a configuration that its NB names."""
    return [{"gflops": gflops, "key": str(NB), "params": {"NB": NB}, **changes} for NB, gflops in rates]


def of_blas(**rates: tuple[float, ...]) -> list[dict[str, Any]]:
    """Runs of the best configuration of each library."""
    words = {blas: {"key": blas, "params": {"blas": blas, "NB": 128}} for blas in rates}
    return [{"gflops": gflops, **words[blas]} for blas, all_of_it in rates.items() for gflops in all_of_it]


FAILED: dict[str, Any] = {"gflops": None, "state": TrialState.FAILED, "passed": None}
LESS = {"gflops": None, "part": 0.3, "time_s": 1.0, "passed": None}
SLOWER = of_nb((64, 10.96), (96, 4.14), (128, 4.97), (64, 11.41), (96, 5.77), (128, 5.77), kind=Kind.CONFIRMATION)
THRICE = of_nb((128, 95.2), (128, 95.3), (128, 95.1))
NEAR_PEAK = of_nb((128, 79.9), (128, 78.8), (128, 79.7), (128, 79.0))
SCENES: dict[str, list[dict[str, Any]]] = {
    "one run": of_nb((128, 95.29)),
    "no configuration ran twice": of_nb((128, 95.29), (192, 80.0)),
    "one of two ran once and may have been slowed": of_nb((128, 95.29), (192, 80.0), (128, 95.3), (128, 95.2)),
    "one configuration ran twice": of_nb((128, 95.2), (128, 95.3)),
    "a rate has an interval once something ran twice": [*of_nb((192, 80.0)), *THRICE],
    "configurations failed": [*of_nb((128, 90.0), (192, 95.29)), *[{**FAILED, **of_nb((192, 0.0))[0], **FAILED}] * 2],
    "runs are too noisy for a confidence": of_nb((128, 75.0), (128, 25.0), (128, 70.0), (128, 30.0), (192, 20.0)),
    "an interval ends where no run of the machine can be": NEAR_PEAK,
    "the machine changed before the best were confirmed": [*of_nb((64, 33.72), (96, 32.91), (128, 31.04)), *SLOWER],
    "two libraries": of_blas(openblas=(95.2, 95.3, 95.1), mkl=(95.0, 95.4, 95.1)),
    "three libraries": of_blas(openblas=(95.2, 95.3, 95.1), mkl=(95.0, 95.4, 95.1), blis=(90.0, 90.1)),
    "a small run has its own size": [
        {
            "gflops": 95.3,
            "kind": Kind.SMALL,
            "hpl": HplParams(3456, 192, 1, 2),
            "params": {**WORDS, "N": 9792},
            "part": 0.35,
        }
    ],
    "runs that were given up and a prefix": [
        {**LESS, "kind": Kind.GIVEN_UP, "reason": "given up after 30% of its columns"},
        {**LESS, "kind": Kind.PREFIX},
    ],
    "what a launcher says in brackets": [{**FAILED, "reason": "code 1: [node1:04711] *** An error in [/scratch]"}],
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_runs_is_what_it_was(store: Store, request: pytest.FixtureRequest, scene: str) -> None:
    study = "default-of-the-cluster-1"
    if "interval ends" in scene:
        study = "small"
        store.create_study(a_study(study, rpeak_gflops=80.0))
    if scene == "one run":
        for what in ("the first run", "the end"):
            note_cautions(store, study, [replace(WAITED, text=f"before {what} the machine was still busy")])
    for run in SCENES[scene]:
        number = store.begin(begun(study, params=run.get("params", WORDS)))
        store.finish(finished(number, **{"gflops": 95.29, "study": study, "params": WORDS, **run}))
    reports = [show_trials(store, study, failed=failed) for failed in (False, True)]
    reports += [show_trial(store, study, 1).report()]
    text = "".join(printed(report, 100) for report in reports)
    if any(record.ranked and record.part == 1 for record in store.records(study)):
        fronts = (None, "percent-of-peak")
        text += told(*(best_of_study(store, study, front=front).report() for front in fronts))
        text += f"\n{''.join(export_study(store, 'md', study))}"
    hold_scene(request, "runs", SCENES, scene, text)


PAGES: dict[str, Callable[[Store], Report]] = {
    "the newest three trials": lambda store: show_trials(store, NAMED, page=Page(1, 3)),
    "the oldest trial": lambda store: show_trials(store, NAMED, page=Page(3, 3)),
    "all trials": lambda store: show_trials(store, NAMED, page=Page()),
    "two studies of six": lambda store: show_studies(store, Page(2, 2)).report(),
    "studies without those of other commands": lambda store: show_studies(store).report(),
    "all studies": lambda store: show_studies(store, everything=True).report(),
}
NAMED = "default-of-the-cluster-1"
WAITED = ToldCaution("", START, OTHERS)


@pytest.mark.parametrize("scene", PAGES)
def test_a_page_of_a_list_is_what_it_was(store: Store, request: pytest.FixtureRequest, scene: str) -> None:
    for rate in range(1, 8):
        add(store, float(rate), key=str(rate))
    for number in range(3):
        store.create_study(a_study(f"more-{number}", created_at=START + timedelta(days=1 + number)))
    store.create_study(a_study("run-1", space_text=""))
    store.create_study(a_study("predict-b", versions={"simulator": "SimGrid 3.32"}))
    hold_scene(request, "pages_of_lists", PAGES, scene, printed(PAGES[scene](store), 80))
