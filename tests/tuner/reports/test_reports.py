"""What people read of a study, also in a narrow terminal and whatever words it is made of."""

import csv
import io
import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from as_user import HPLTUNE, Run
from record_builders import START, a_study, begun, finished
from report_reading import as_json, printed

from hpl.params import HplParams
from results.record import Kind, TrialState
from results.report.model import Rows
from results.store.store import Store
from tuner.commands.stored.best import BestRequest, best_of_study
from tuner.commands.stored.export import ExportRequest, export_study
from tuner.commands.stored.show import (
    StudiesRequest,
    TrialRequest,
    TrialsRequest,
    show_studies,
    show_trial,
    show_trials,
)
from tuner.events import OTHERS
from tuner.reports.lists import Page

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
    shown = printed(best_of_study(store, BestRequest()).report(), width)
    assert "…" not in shown
    for word in ("191.29", "223.29", "Cooperlake96", "1x128", "mix96", "% of peak"):
        assert word in shown


def best(store: Store) -> str:
    return printed(best_of_study(store, BestRequest()).report())


def facts_of_best(store: Store, count: int) -> Any:
    return as_json(best_of_study(store, BestRequest(count=count)).report())


def exported(store: Store, kind: str) -> str:
    return export_study(store, ExportRequest(kind)).text()


def test_best_begins_with_the_answer_and_ends_with_each_caution_once(store: Store) -> None:
    for gflops in (95.2, 95.3):
        add(store, gflops, key="a", params={"NB": 128})
    told = {"at": START.isoformat(), "about": OTHERS}
    waits = {f"caution before {what} the machine was still busy": told for what in ("the first run", "the end")}
    store.note_host("default-of-the-cluster-1", waits)
    lines = [line for line in best(store).splitlines() if line]
    assert lines[0] == "In short"
    assert lines[1].startswith("Best: 95.26 GFLOPS, ")
    assert lines[2] == "Sure? Only one configuration has a valid run: there is none to compare it with."
    assert lines[3].startswith("Next: `hpltune tune --resume --study default-of-the-cluster-1` goes on")
    assert lines[4].startswith("Best of study")
    assert [line for line in lines if "Caution" in line] == ["Caution: before the end the machine was still busy."]
    assert lines[-1].startswith("Caution")


def test_best_takes_the_newest_study_that_show_lists(store: Store) -> None:
    add(store)
    others: dict[str, Any] = {
        "run-1": {"space_text": ""},
        "default-1-blas": {"options": {"shootout": True}},
        "lesson": {"host": {"lesson": "kronos"}},
        "predict-b": {"versions": {"simulator": "SimGrid 3.32"}},
    }
    for day, (name, changes) in enumerate(others.items(), 1):
        store.create_study(a_study(name, created_at=START + timedelta(days=day), **changes))
        store.finish(finished(store.begin(begun(name)), 99.0, name))
    assert best_of_study(store, BestRequest()).summary.study.name == "default-of-the-cluster-1"
    listed = show_studies(store, StudiesRequest())
    assert [line.study.name for line in listed.lines] == ["default-of-the-cluster-1"]
    assert listed.left_out == {"run": 1, "blas": 1, "learn": 1, "predict": 1}
    store.delete_study("default-of-the-cluster-1")
    assert best_of_study(store, BestRequest()).summary.study.name == "predict-b"


def test_how_often_configurations_failed_is_shown_where_any_did(store: Store) -> None:
    add(store, 90.0, key="steady", params={"NB": 128})
    add(store, key="shaky", params={"NB": 192})
    assert "failed" not in best(store)
    for _ in range(2):
        add(store, None, key="shaky", params={"NB": 192}, state=TrialState.FAILED, passed=None)
    shown = best(store)
    assert re.search(r"runs +. failed", shown)
    assert re.search(r"1 . +95\.29 .+ 1 . +2 .+ 192", shown)
    assert "No. 1 failed in 2 of its 3 runs.\n" in shown
    assert "| runs | failed |" in exported(store, "md")
    assert [entry["failed_runs"] for entry in facts_of_best(store, 5)["ranking"]] == [2, 0]


def test_the_best_are_shown_with_how_sure_the_first_is(store: Store) -> None:
    add(store, key="a", params={"NB": 128})
    assert "Only one configuration has a valid run: there is none to compare it with.\n" in best(store)
    add(store, 80.0, key="b", params={"NB": 192})
    assert "No configuration ran twice, so the confidence is unknown" in best(store)
    for rate in (95.3, 95.2):
        add(store, rate, key="a", params={"NB": 128})
    assert "No. 1 is the fastest with 89 % confidence at most: 1 of 2 ran once and may have been slowed" in best(store)


def test_the_rate_of_the_best_has_an_interval_once_something_ran_twice(store: Store) -> None:
    add(store, 95.2, key="a", params={"NB": 128})
    add(store, 80.0, key="b", params={"NB": 192})
    assert "with 95 % probability" not in best(store)
    assert facts_of_best(store, 5)["ranking"][0]["interval_gflops"] is None
    for rate in (95.3, 95.1):
        add(store, rate, key="a", params={"NB": 128})
    low, high = facts_of_best(store, 5)["ranking"][0]["interval_gflops"]
    assert 94.0 < low < 95.2 < high < 96.5
    said = f"its usual rate is between {low:.2f} and {high:.2f} with 95 % probability."
    assert said in " ".join(best(store).split())


def test_where_runs_are_too_noisy_for_a_confidence_the_ends_of_the_runs_stand_in_place_of_an_interval(
    store: Store,
) -> None:
    for rate in (75.0, 25.0, 70.0, 30.0):
        add(store, rate, key="a", params={"NB": 128})
    add(store, 20.0, key="b", params={"NB": 192})
    facts = facts_of_best(store, 5)
    assert facts["confidence"] is None
    assert [entry["interval_gflops"] for entry in facts["ranking"]] == [None, None]
    for told in (best(store), exported(store, "md")):
        words = " ".join(told.split())
        assert "GFLOPS; its 4 runs gave 25.00 to 75.00, slowest to fastest." in words
        assert "95 %" not in words


def test_the_interval_of_a_rate_ends_where_no_run_of_the_machine_can_be(store: Store) -> None:
    rates = (79.9, 78.8, 79.7, 79.0)
    for rate in rates:
        add(store, rate, key="a", params={"NB": 128})
    _, high = facts_of_best(store, 5)["ranking"][0]["interval_gflops"]
    assert high > 80.0
    store.create_study(a_study("small", rpeak_gflops=80.0))
    for rate in rates:
        number = store.begin(begun("small", params={"NB": 128}, key="a"))
        store.finish(finished(number, rate, "small", params={"NB": 128}, key="a"))
    [entry] = as_json(best_of_study(store, BestRequest("small")).report())["ranking"]
    assert entry["interval_gflops"][1] == 80.0


def test_a_machine_that_changed_before_the_best_were_confirmed_is_told_to_people_and_to_scripts(store: Store) -> None:
    def told() -> float:
        return float(facts_of_best(store, 1)["machine_changed_percent"])

    for NB, gflops in ((64, 33.72), (96, 32.91), (128, 31.04)):
        add(store, gflops, key=str(NB), params={"NB": NB})
    assert told() == 0.0
    for NB, gflops in ((64, 10.96), (96, 4.14), (128, 4.97), (64, 11.41), (96, 5.77), (128, 5.77)):
        add(store, gflops, key=str(NB), params={"NB": NB}, kind=Kind.CONFIRMATION)
    said = f"The machine slowed by {-told():.0f} % before confirmation; what is expected is of the slower machine."
    assert said in best(store)


def test_the_best_of_each_blas_is_told_with_how_sure_the_difference_is(store: Store) -> None:
    for key, rates in {"openblas": (95.2, 95.3, 95.1), "mkl": (95.0, 95.4, 95.1), "blis": (90.0, 90.1)}.items():
        assert key != "mkl" or "The best with" not in best(store)
        for rate in rates:
            add(store, rate, key=key, params={"blas": key, "NB": 128})
    shown = best(store)
    assert re.search(
        r"The best with blis is in place 3 with 90\.\d+ GFLOPS, 5\.\d % behind \(more than 99 % sure\)\.\n", shown
    )
    assert "Each of the 3 configurations was run more than once.\n" in shown
    lines = facts_of_best(store, 1)["by_blas"]
    assert [line["place"] for line in lines] == [1, 2, 3]
    assert lines[1]["first_is_faster"] < 0.9 < lines[2]["first_is_faster"]


def test_nothing_is_said_of_how_sure_the_first_of_simulations_or_of_a_front_is(store: Store, tmp_path: Path) -> None:
    add(store)
    front = printed(best_of_study(store, BestRequest(front="percent-of-peak")).report())
    assert "none to compare" not in front
    assert "none is both faster and nearer to its peak than this one." in front
    with Store.open(tmp_path / "simulated.db") as simulated:
        simulated.create_study(a_study("default-of-the-cluster-1", versions={"simulator": "SimGrid 3.32"}))
        add(simulated)
        assert "none to compare" not in best(simulated)


def test_the_studies_are_shown_whole_at_80_characters(store: Store) -> None:
    add(store)
    shown = printed(show_studies(store, StudiesRequest()).report(), 80)
    assert "…" not in shown
    assert "95.29" in shown
    assert "killed" in shown, "nobody but this process works on it"


def test_a_study_without_failures_says_so_instead_of_an_empty_table(store: Store) -> None:
    store.create_study(a_study())
    shown = printed(show_trials(store, TrialsRequest("study", failed=True)).report(), 80)
    assert shown == "No trial of study study failed or was cancelled.\n"


def of_a_trial(store: Store, width: int, *, failed: bool) -> list[str]:
    """The first trial of the study as `show` has it among the others, and by itself."""
    study = "default-of-the-cluster-1"
    return [
        printed(show_trials(store, TrialsRequest(study, failed=failed)).report(), width),
        printed(show_trial(store, TrialRequest(study, 1)).report(), width),
    ]


def test_a_small_run_is_shown_with_the_size_it_had(store: Store) -> None:
    add(store, kind=Kind.SMALL, hpl=HplParams(3456, 192, 1, 2), params={**WORDS, "N": 9792}, part=0.35)
    for shown in of_a_trial(store, 120, failed=False):
        assert "N=3456" in shown
        assert "9792" not in shown


def test_a_run_that_was_given_up_is_shown_with_the_reason_and_a_prefix_with_its_rate(store: Store) -> None:
    less = {"part": 0.3, "time_s": 1.0, "passed": None}
    add(store, None, kind=Kind.GIVEN_UP, reason="given up after 30% of its columns", **less)
    add(store, None, kind=Kind.PREFIX, **less)
    study = "default-of-the-cluster-1"
    shown = printed(show_trials(store, TrialsRequest(study)).report())
    given_up, prefix = (next(line for line in shown.splitlines() if kind in line) for kind in ("given-up", "prefix"))
    assert "given up after 30% of its columns" in given_up
    assert "GFLOPS in its first 30%" in prefix


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


def test_output_of_a_trial_may_be_asked_for_as_json(store: Store) -> None:
    add(store, output="WR01C2R4\n")
    found = show_trial(store, TrialRequest("default-of-the-cluster-1", 1, output=True))
    assert as_json(found.report())["output"] == "WR01C2R4\n"


def test_what_a_launcher_says_in_brackets_is_shown_as_it_is(store: Store) -> None:
    add(store, None, state=TrialState.FAILED, reason="code 1: [node1:04711] *** An error in [/scratch]", passed=None)
    for shown in of_a_trial(store, 200, failed=True):
        assert "[node1:04711] *** An error in [/scratch]" in shown


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


def test_many_trials_and_studies_are_shown_in_pages_that_say_what_more_there_is(store: Store) -> None:
    for rate in range(1, 8):
        add(store, float(rate), key=str(rate))
    name = "default-of-the-cluster-1"

    def trials(page: Page) -> str:
        return printed(show_trials(store, TrialsRequest(name, page=page)).report(), 160)

    assert re.findall(r"^│ (\d)", trials(Page(1, 3)), re.MULTILINE) == ["5", "6", "7"]
    assert "Trials 5 to 7 of 7; --page 2 has those before, --count 7 has all." in trials(Page(1, 3))
    assert "Trials 1 to 1 of 7; --count 7 has all." in trials(Page(3, 3))
    assert "--page" not in trials(Page())
    for number in range(3):
        store.create_study(a_study(f"more-{number}", created_at=START + timedelta(days=1 + number)))
    shown = printed(show_studies(store, StudiesRequest(Page(2, 2))).report(), 160)
    assert "Studies 1 to 2 of 4; --count 4 has all." in shown
    assert "more-0" in shown
    assert "more-1" not in shown


def test_studies_of_run_and_predict_are_told_in_a_line_unless_all_are_wanted(store: Store) -> None:
    store.create_study(a_study("run-1", space_text=""))
    store.create_study(a_study("predict-b", versions={"simulator": "SimGrid 3.32"}))
    shown = printed(show_studies(store, StudiesRequest()).report(), 160)
    assert "run-1" not in shown
    assert "Also 1 of `hpltune predict` and 1 of `hpltune run`: --all lists them too." in shown
    everything = printed(show_studies(store, StudiesRequest(everything=True)).report(), 160)
    assert "run-1" in everything
    assert "predict-b" in everything


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
    found = show_trials(store, TrialsRequest(name, page=Page(1, 1)))
    assert [record.number for record in found.records] == [4]
    assert isinstance(found.report().facts, Rows)
    assert [row["gflops"] for row in found.rows.read()] == [70.0, 75.0, 80.0, None]
    assert as_json(show_trials(store, TrialsRequest(name, failed=True)).report())[0]["reason"] == "it crashed"


def test_all_studies_can_be_asked_for_at_once(store: Store) -> None:
    for number in range(25):
        store.create_study(a_study(f"more-{number}", space_text="" if number % 2 else "[parameters]"))
    found = show_studies(store, StudiesRequest(page=None, everything=True))
    assert len(found.lines) == found.known == len(as_json(found.report())) == 26
    assert (found.more, found.left_out) == (None, {})


def test_an_export_is_read_in_parts(store: Store) -> None:
    for rate in (70.0, 75.0):
        add(store, rate, key=str(rate))
    parts = export_study(store, ExportRequest("jsonl")).parts
    assert json.loads(next(parts))["gflops"] == 70.0
    assert json.loads(next(parts))["gflops"] == 75.0
    assert next(parts, None) is None
