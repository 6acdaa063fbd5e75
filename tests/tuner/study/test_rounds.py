"""What was disturbed and may still win runs again, while the budget allows it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from disturbing import disturbing
from record_builders import DISTURBED, QUIET, finished

from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store
from tuner.budget import Budget, Meter
from tuner.clock import ToldClock
from tuner.engines.outcomes import FULL, Fidelity, Question, Rung
from tuner.events import Event, Notice, PhaseStarted
from tuner.stopping import StopRequest
from tuner.study.rounds import (
    STEADY,
    Competitor,
    End,
    FullRuns,
    Rounds,
    RoundsResult,
    SteadyLoad,
    extra_runs,
    may_win,
)
from tuner.study.session import StudyContext


def disturbed(number: int = 1, gflops: float = 40.0, key: str = "a") -> TrialRecord:
    return finished(number, gflops, key=key, measurements=DISTURBED)


def quiet(number: int = 1, gflops: float = 60.0, key: str = "a") -> TrialRecord:
    return finished(number, gflops, key=key, measurements=QUIET)


def test_a_disturbed_run_may_win_as_far_as_what_it_may_have_lost() -> None:
    assert may_win(disturbed(gflops=40.0), 60.0)
    assert not may_win(disturbed(gflops=10.0), 60.0)
    assert not may_win(quiet(gflops=60.0), 10.0), "a quiet run says what it says"


def played(
    *rivals: Callable[[], TrialRecord], rounds: int = 1, clock: ToldClock | None = None, **more: Any
) -> tuple[RoundsResult, list[str]]:
    """Run rivals a, b … in rounds A B B A, each of which should take a second; what came of it, and what was said."""
    said, stop = list[str](), more.pop("stop", StopRequest())

    def listener(event: Event) -> None:
        said.append(event.text if isinstance(event, Notice) else str(event))

    context = StudyContext(None, listener, stop, Path())  # type: ignore[arg-type]
    loop = {
        "competitors": [Competitor.of(name, run, 1.0) for name, run in zip("abc", rivals, strict=False)],
        "order": lambda played, left: left[:: -1 if played.begun % 2 else 1],
        "ends": lambda played, _: "" if played.begun == rounds else None,
        "meter": Meter(Budget(wall_s=6.5 if clock else None), clock or ToldClock()),
        "load": SteadyLoad(context.say),
    }
    return Rounds(**{"context": context, "phase": PhaseStarted("turns", None), **loop, **more}).play(), said[1:]


def test_it_runs_again_until_a_run_was_quiet() -> None:
    runs = iter([disturbed(1), disturbed(2), quiet(3), quiet(4)])
    found, said = played(lambda: next(runs))
    assert [run.number for run in found.records] == [1, 2, 3]
    assert said == [
        f"Trial {number} was disturbed (others took 0.8 of 2 cores for 9 of 12 s, mostly python3) and may still win: "
        "it runs again."
        for number in (1, 2)
    ]


def test_each_runs_once_a_round_in_the_order_of_the_rule_and_again_twice_at_most() -> None:
    found, _ = played(lambda: disturbed(1), lambda: quiet(2), rounds=2)
    assert [run.number for run in found.records] == [1, 1, 1, 2, 2, 1, 1, 1]
    assert (found.begun, found.turns, found.end, found.why) == (2, 4, End.OVER, "")


def test_a_round_begins_and_a_run_is_repeated_only_where_all_that_is_left_of_the_round_fits() -> None:
    clock = ToldClock()

    def ran(record: TrialRecord) -> TrialRecord:
        clock.sleep(1.0)
        return replace(record, cost_s=1.0)

    two = (lambda: ran(disturbed(1)), lambda: ran(quiet(2)))
    found, _ = played(*two, rounds=9, clock=clock)
    assert [run.number for run in found.records] == [1, 1, 1, 2, 2, 1], "2.5 s were left for the second round"
    assert (found.begun, found.end) == (2, End.TIME)
    assert "more than is left" in found.why
    clock = ToldClock()
    found, _ = played(*two, clock=clock, order=lambda _, left: [*left] * 4, apart=True)
    assert [run.number for run in found.records] == [1, 2, 1, 2, 1, 2], "a repeat would cost one that is due"


def test_who_fails_twice_in_a_row_is_out_and_fewer_than_are_needed_end_it() -> None:
    crashed = replace(finished(3, None, passed=None), state=TrialState.FAILED, reason="it crashed")
    runs = iter([crashed, quiet(4), crashed, crashed, *[quiet(5)] * 9])
    found, _ = played(lambda: next(runs), lambda: quiet(2), rounds=6, least=2)
    why = "its best configuration failed 2 times in a row: it crashed"
    assert (found.out, found.begun, found.why) == ({"a": why}, 4, f"a: {why}")
    found, _ = played(lambda: crashed, lambda: quiet(2), rounds=6)
    assert [run.number for run in found.records] == [3, 2, 2, 3, 2, 2, 2, 2], "the others go on"
    found, _ = played(lambda: crashed, lambda: quiet(2), apart=True, order=lambda _, left: [*left] * 4)
    assert [run.number for run in found.records] == [3, 2, 3, 2, 2, 2]


def test_a_stop_ends_the_round_and_repeats_nothing() -> None:
    stop = StopRequest()

    def stopping() -> TrialRecord:
        stop.ask()
        return disturbed(1)

    found, _ = played(lambda: quiet(2), stopping, lambda: quiet(3), stop=stop, rounds=6)
    assert [run.number for run in found.records] == [2, 1]
    assert (found.begun, found.end) == (1, End.STOPPED)


def test_a_load_that_stays_is_told_once_and_nothing_runs_again_until_a_run_was_quiet() -> None:
    runs = iter([*[disturbed(1)] * 5, finished(7, 60.0, measurements={}), disturbed(1), quiet(8), *[disturbed(1)] * 3])
    found, said = played(lambda: next(runs), rounds=7)
    assert len(found.records) == 11, "three of the first, and its fourth run shows that the load stays"
    assert [line for line in said if line.startswith("The last")] == said[2:3]
    assert said[2].startswith(f"The last {STEADY} runs were all disturbed, trial 1 because others took 0.8 of 2 cores")
    assert said[2].endswith("the machine is loaded all the time, and no disturbed run is repeated while that lasts.")
    found, _ = played(lambda: disturbed(1), apart=True, order=lambda _, left: [*left] * 9)
    assert (len(found.records), found.end) == (4, End.LOAD), "what counts run by run ends"


def test_a_search_repeats_nothing_while_a_load_stays() -> None:
    said = list[str]()
    runs = FullRuns(SteadyLoad(said.append))
    for number in range(1, 9):
        runs.note(Question({"NB": number}, FULL), disturbed(number, 58.0, str(number)), 60.0)
    waiting = []
    while found := runs.take([], 60.0):
        waiting += found
    assert len(waiting) == STEADY - 1
    assert sum("loaded all the time" in one for one in said) == 1


def test_who_asks_for_one_run_gets_one_and_who_asks_for_six_at_most_two_more() -> None:
    assert [extra_runs(repeats) for repeats in (1, 2, 3, 6, 7)] == [0, 1, 1, 2, 3]


def test_a_search_asks_again_what_was_disturbed_and_can_win() -> None:
    said = list[str]()
    runs, question = FullRuns(SteadyLoad(said.append)), Question({"NB": 192}, FULL)
    runs.note(question, disturbed(1, 40.0), 60.0)
    assert runs.take([question], 60.0) == [], "it runs now"
    assert said == [], "nothing is promised before it begins"
    assert runs.take([], 600.0) == [], "a faster run has beaten it meanwhile"
    runs.note(question, disturbed(1, 40.0), 60.0)
    assert runs.take([], 60.0) == [question]
    assert runs.take([], 60.0) == []
    assert len(said) == 1


def test_a_search_asks_nothing_again_that_cannot_win_or_has_a_quiet_run_or_ran_in_part() -> None:
    runs, question = FullRuns(SteadyLoad(lambda _: None)), Question({"NB": 192}, FULL)
    runs.note(question, disturbed(1, 5.0), 60.0)
    runs.note(question, quiet(2, 50.0), 60.0)
    runs.note(question, disturbed(3, 50.0), 60.0)
    runs.note(Question({"NB": 192}, Rung(Fidelity.SMALL, 0.35)), disturbed(4, 50.0, "b"), 60.0)
    assert runs.take([], 60.0) == []


@pytest.fixture
def dat(hpltune: Run) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000", "--ranks", "1")


@pytest.fixture
def space(home: Path) -> Path:
    file = home / "space.toml"
    file.write_text('parameters = { NB = [32, 64], N = 1000, layout = "1x1" }\n')
    return file


@pytest.mark.usefixtures("dat")
def test_of_six_runs_three_are_marked_two_run_again_and_the_interval_is_of_the_others(
    hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbing(monkeypatch, {4, 5, 6}):
        done = hpltune.well("run", "HPL.dat", "--xhpl", str(prints_hpl), "--repeats", "6")
    said = " ".join(done.stdout.split())
    assert "3 of 6 runs were disturbed, trial 6 because others took 0.8 of 2 cores for 9 of 12 s" in said
    assert "at most 2 more runs follow" in said
    assert said.count("GFLOPS, disturbed") == 3
    assert "the median of 5 runs" in said
    assert "beside 3 disturbed ones" in said
    with Store.open(home / "data/hpltune.db") as store:
        records = store.records("run-HPL-1")
        assert [run.number for run in records if run.disturbed] == [4, 5, 6]
        assert len(records) == 8
    shown = " ".join(hpltune("best", "run-HPL-1").stdout.split())
    assert "Caution: 3 of 8 runs were disturbed: other programs took CPU time in 3 (mostly python3)." in shown
    one = " ".join(hpltune("show", "run-HPL-1", "4").stdout.split())
    assert "others took 0.8 of 2 cores for 9 of 12 s, mostly python3" in one
    trial = hpltune.told("show", "run-HPL-1", "4")
    assert trial["disturbed"].startswith("others took")
    assert "disturbed" in hpltune("export", "csv", "run-HPL-1").stdout.splitlines()[0].split(",")


@pytest.mark.usefixtures("dat")
def test_where_all_runs_were_disturbed_that_is_told_in_place_of_more(
    hpltune: Run, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbing(monkeypatch, range(100)):
        done = hpltune("run", "HPL.dat", "--xhpl", str(prints_hpl), "--repeats", "2")
    said = " ".join(done.stdout.split())
    assert "All 3 runs of this file were disturbed, also the fastest one: others took" in said
    assert "Its rate is at least" in said
    best = json.loads(hpltune("best", "--json").stdout)
    assert best["ranking"][0]["interval_gflops"] is None
    assert best["ranking"][0]["all_disturbed_by"].startswith("others took")
    assert best["ranking"][0]["disturbed_runs"] == 3


@pytest.mark.usefixtures("dat")
def test_a_check_runs_once_more_in_place_of_what_was_disturbed(
    hpltune: Run, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbing(monkeypatch, ()):
        hpltune("run", "HPL.dat", "--xhpl", str(prints_hpl), "--repeats", "3")
    with disturbing(monkeypatch, {2}):
        done = hpltune("check", "--baseline", "run-HPL-1", "--runs", "3")
    said = " ".join(done.stdout.split())
    assert "was disturbed, so that it does not count: others took" in said
    assert "the median of 3 runs" in said


def test_a_search_repeats_what_was_disturbed(
    hpltune: Run, home: Path, space: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disturbing(monkeypatch, {3, 7}):
        again = ("--trials", "6", "--confirm", "1", "--study", "again")
        done = hpltune.well("tune", "--space", str(space), "--xhpl", str(prints_hpl), *again)
    assert "may still win: it runs again" in " ".join(done.stdout.split())
    with Store.open(home / "data/hpltune.db") as store:
        records = store.records("again")
        assert sum(run.disturbed is not None for run in records) == 2
        for run in records:
            if run.disturbed and run.kind in {Kind.SEARCH, Kind.CONFIRMATION}:
                assert any(one.key == run.key and one.number > run.number for one in records)


def test_a_grid_tries_all_that_it_was_asked_for_before_it_repeats_what_was_disturbed(
    hpltune: Run, home: Path, space: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = ("--engine", "grid", "--trials", "3", "--confirm", "0", "--study", "grid")
    with disturbing(monkeypatch, range(100)):
        hpltune.well("tune", "--space", str(space), "--xhpl", str(prints_hpl), *grid)
    with Store.open(home / "data/hpltune.db") as store:
        tried = [run.params["NB"] for run in store.records("grid") if run.kind is Kind.SEARCH]
    assert set(tried[:2]) == {32, 64}
    assert len(tried) == 3
