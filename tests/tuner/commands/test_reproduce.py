"""`reproduce` as a program and as a user calls it, and what ends it."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from report_reading import printed
from waiting import PATIENCE_S

from results.report.model import Table
from tuner.budget import Budget
from tuner.commands.reproduce import ReproduceResult, reproduce
from tuner.events import Event, Listener, PartFound, TrialEnded
from tuner.options import TuneOptions
from tuner.stopping import StopRequest


def shown(result: ReproduceResult, width: int = 160) -> str:
    return printed(result.report(), width)


def reproduced(home: Path, listener: Listener, stop: StopRequest, *, trials: int) -> ReproduceResult:
    asked = TuneOptions(engine="random", budget=Budget(trials=trials), jobs=2, limit_s=120.0)
    return reproduce("kronos", asked, listener, stop, str(home / "my.db"))


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_the_page_of_a_publication_is_written_beside_the_json(hpltune: Run, home: Path) -> None:
    done = hpltune.well("reproduce", "kronos", "--trials", "0", "--html", "page.html", "--json")
    assert len(json.loads(done.stdout)["tests"]) == 8
    assert done.stderr.endswith("Wrote page.html. Open it in a browser.\n")
    page = (home / "page.html").read_text()
    assert page.count('class="drawn"') == 2
    assert "hpltune reproduce kronos --trials 0 --engine hpl --seed 0" in page


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_publication_is_reproduced_without_a_terminal(home: Path) -> None:
    events: list[Event] = []
    result = reproduced(home, events.append, StopRequest(), trials=0)
    assert [row.test.number for row in result.tests] == list(range(1, 9))
    assert (result.found, result.interrupted) == (None, False)
    assert [event.parts for event in events if isinstance(event, PartFound)] == [result.report().parts]


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_the_tests_are_told_before_the_search_begins_and_stand_first_in_the_report_of_a_stopped_one(home: Path) -> None:
    events: list[Event] = []
    stop = StopRequest()

    def hear(event: Event) -> None:
        events.append(event)
        if isinstance(event, TrialEnded):
            stop.ask(at_once=True)

    result = reproduced(home, hear, stop, trials=60)
    kinds = [type(event) for event in events]
    assert kinds.index(PartFound) < kinds.index(TrialEnded)
    early = next(event.parts for event in events if isinstance(event, PartFound))
    assert result.report().parts[: len(early)] == early
    assert result.interrupted
    assert result.stopped is not None
    assert result.stopped.study.name == "reproduce-kronos-1"
    said = shown(result, 200)
    assert "Best of study reproduce-kronos-1 (simulated)" in said
    assert said.rstrip().endswith("`hpltune reproduce kronos` begins anew.")
    assert "goes on with its search" in said


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stop_before_the_tests_are_simulated_is_a_result_that_says_so(home: Path) -> None:
    stop = StopRequest()
    stop.ask()
    result = reproduced(home, lambda _: None, stop, trials=0)
    assert result.interrupted
    assert not [part for part in result.report().parts if isinstance(part, Table)]
    assert "Stopped before all published tests were simulated" in shown(result, 200)


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_reproduce_without_any_result_is_an_error_and_no_page(hpltune: Run, home: Path) -> None:
    said = hpltune.refused("reproduce", "kronos", "--trials", "2", "--limit", "0.01s", "--html", "page.html", code=1)
    assert not (home / "page.html").exists()
    assert "hpltune: no simulation gave a result; the last one: the simulation was stopped at its time" in said


@pytest.mark.process
@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stopped_search_tells_the_best_so_far_and_how_to_go_on(home: Path) -> None:
    arguments = ("reproduce", "kronos", "--trials", "60", "--db", "my.db")
    pipe = subprocess.PIPE
    with subprocess.Popen([str(HPLTUNE), *arguments], cwd=home, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        said = ""
        while "#2 " not in said:
            said += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Best of study reproduce-kronos-1" in rest
    assert "`hpltune tune --resume --study reproduce-kronos-1 --db my.db` goes on with its search" in rest
