"""A run that hangs costs the study a part of its budget, and neither the budget nor the result."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run, program
from made_study import MadeStudy
from record_builders import begun, finished

from results.record import Invalidity, TrialState
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.outcomes import FULL
from tuner.events import Event, Listener, Notice
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.objective import of_study
from tuner.study.search.search_limits import SPARE_S, limit_s, outlasted_sentence, unknown_limit_s
from tuner.study.session import StudyContext, StudySession

FAKE = """#!{python}
import os, sys, time
from pathlib import Path
lines = Path("HPL.dat").read_text().splitlines()
N, NB, P, Q = (int(lines[place].split()[0]) for place in (5, 7, 10, 11))
calls = Path({calls!r})
if os.environ.get("OMPI_COMM_WORLD_RANK", "0") != "0":
    sys.exit()
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
count = len(calls.read_text())
{fault}
seconds = (2 / 3 * N**3 + 3 / 2 * N**2) / 1e11
print(f"WR11C2R4 {{N}} {{NB}} {{P}} {{Q}} {{seconds:.2f}} 1.0000e+02", flush=True)
print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.0039 ...... PASSED", flush=True)
print("End of Tests.")
"""
"""An HPL of 100 GFLOPS with a fault; `count` says which run it is."""
POINT = ("--space", "quick", "--set", "DEPTH=1", "--confirm", "0", "--study", "faulty")


def faulty(home: Path, fault: str) -> tuple[str, str]:
    text = FAKE.format(python=shlex.quote(sys.executable), calls=str(home / "calls"), fault=fault)
    return "--xhpl", str(program(home / "xhpl", text))


def test_a_run_may_take_several_times_what_is_expected() -> None:
    assert limit_s(100.0, None, 60.0) == limit_s(100.0, 1e6, 60.0) == 500.0 + SPARE_S


def test_a_short_run_has_a_short_limit() -> None:
    assert limit_s(0.5, 1e6, 60.0) < 10.0


@pytest.mark.parametrize("left_s", [100.0, 130.0, 250.0])
def test_a_run_that_fits_is_not_ended_before_it_took_twice_what_is_expected_and_overruns_by_no_more(
    left_s: float,
) -> None:
    assert 200.0 <= limit_s(100.0, left_s, 60.0) <= left_s + 100.0


def test_a_first_run_leaves_time_for_others() -> None:
    assert limit_s(None, None, unknown_limit_s(300.0)) == 60.0
    assert limit_s(None, 3600.0, unknown_limit_s(3600.0)) == 360.0
    assert limit_s(None, 30.0, unknown_limit_s(30.0)) == 10.0


def test_a_run_that_hangs_leaves_time_for_others_and_one_that_takes_three_times_as_long_is_not_ended() -> None:
    assert limit_s(2.0, 8.0, 60.0) == 6.0
    assert limit_s(10.0, 60.0, 60.0) == 30.0


def test_no_limit_is_below_some_seconds() -> None:
    for expected_s in (None, 0.1):
        for left_s in (None, 0.0, -50.0, 1.0):
            assert limit_s(expected_s, left_s, 60.0) >= SPARE_S


Make = Callable[..., MadeStudy]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a study whose runs should take 10 s by what small ones told."""
    space = 'parameters = { NB = [32, 64], grid = ["1x2", "2x1"], layout = "2x1" }'
    machine = Machine(cores=2, memory_bytes=2**34, blas={"blis": BlasFacts(("auto",), threaded=False)}, N=12_000)
    with Store.open(tmp_path / "study.db") as store:
        begin(store, "study", TuneOptions(), MachineFacts(host={}, versions={}))

        def made(budget: Budget | None = None, listener: Listener = lambda _: None) -> MadeStudy:
            session = StudySession(
                context=StudyContext(store, listener, StopRequest(), tmp_path),
                study="study",
                space=load("made for a test", machine, text=space),
                objective=of_study(store.study("study")),
                meter=Meter(budget or Budget(), RealClock()),
            )
            return MadeStudy.of(session, (), expected_s=10.0)

        yield made


def given_s(study: MadeStudy) -> float:
    """What the next run in full is given."""
    return study.limits.of_launch(FULL, 1, None).limit_s


def expected_s(study: MadeStudy) -> float | None:
    return study.limits.run_time.expected_s


def ran(study: MadeStudy, cost_s: float, gflops: float | None = None) -> None:
    """A run in full came to its end, or was ended where it has no rate."""
    number = study.book.begin(begun(key=f"run {len(study.records())}")) or 0
    record = finished(number, gflops, cost_s=cost_s)
    failed = replace(record, state=TrialState.FAILED, invalidity=Invalidity.TIMEOUT, passed=None)
    study.book.commit(record if gflops else failed)


def test_after_a_run_that_was_ended_before_any_came_to_its_end_the_next_has_more_than_twice_as_long(
    make: Make,
) -> None:
    said = list[Event]()
    study = make(listener=said.append)
    first_s = given_s(study)
    ran(study, first_s)
    assert given_s(study) > 2 * first_s
    told = [event.text for event in said if isinstance(event, Notice)]
    assert told == [outlasted_sentence(12_000, given_s(study), raised=True)]


def test_that_stays_within_the_budget(make: Make) -> None:
    study = make(Budget(wall_s=300.0))
    ran(study, given_s(study))
    study.meter.spent_wall_s = 220.0
    assert 80.0 < given_s(study) <= 80.0 + 55.0
    assert study.meter.out_of_time(expected_s(study) or 0.0) is None
    study.meter.spent_wall_s = 250.0
    assert study.meter.out_of_time(expected_s(study) or 0.0) is not None


def test_where_the_budget_has_no_room_for_longer_runs_others_still_have_the_first_limit(make: Make) -> None:
    study = make(Budget(wall_s=300.0))
    ran(study, given_s(study))
    study.meter.spent_wall_s = 220.0
    ran(study, 165.0)
    assert expected_s(study) == 10.0
    assert study.meter.out_of_time(10.0) is None


def test_what_ran_at_the_same_time_counts_once(make: Make) -> None:
    study = make()
    for _ in range(4):
        ran(study, 55.0)
    assert expected_s(study) == 55.0


def test_a_run_that_comes_to_its_end_is_believed_at_once(make: Make) -> None:
    study = make()
    ran(study, 55.0)
    ran(study, 120.0, gflops=3.0)
    assert expected_s(study) == 120.0
    ran(study, 120.0, gflops=3.0)
    ran(study, given_s(study))
    assert expected_s(study) == 120.0


def test_runs_that_hang_however_long_they_are_given_have_the_first_limit_again(make: Make) -> None:
    study = make()
    first_s, limits_s = given_s(study), list[float]()
    for _ in range(5):
        limits_s.append(given_s(study))
        ran(study, limits_s[-1])
    assert limits_s[1] > 2 * first_s
    assert limits_s[2] > 2 * limits_s[1]
    assert limits_s[3:] == [first_s, first_s]


@pytest.mark.usefixtures("mpirun")
class TestFaultyProgram:
    def tune(self, hpltune: Run, *arguments: str) -> tuple[int, str, list[dict[str, object]]]:
        done = hpltune("tune", *POINT, *arguments)
        shown = hpltune("show", "faulty", "--json")
        return done.returncode, done.stdout + done.stderr, json.loads(shown.stdout) if shown.returncode == 0 else []

    def test_a_run_that_hangs_is_ended_soon_and_the_search_goes_on(self, hpltune: Run, home: Path) -> None:
        hangs = faulty(home, "time.sleep(1000 if NB == 192 else 0)")
        limits = ("--budget", "10m", "--trials", "3", "--engine", "grid")
        code, said, trials = self.tune(hpltune, *hangs, "--set", "N=1000", "--set", "NB=192,96,112", *limits)
        assert code == 0, said
        hung = [trial for trial in trials if trial["invalidity"] == "timeout"]
        assert hung
        assert all(float(str(trial["cost_s"])) < 300 for trial in hung), hung
        assert any(trial["kind"] == "search" and trial["state"] == "complete" for trial in trials)

    def test_runs_that_take_far_longer_than_small_ones_told_come_to_their_end(self, hpltune: Run, home: Path) -> None:
        slow = faulty(home, "time.sleep(14 if N == 1000 and count > 1 else 0)")
        code, said, trials = self.tune(hpltune, *slow, "--set", "N=1000", "--set", "NB=96", "--trials", "2")
        assert code == 0, said
        assert any(trial["kind"] == "search" and trial["state"] == "complete" for trial in trials), trials

    def test_of_a_first_run_that_failed_another_configuration_is_tried(self, hpltune: Run, home: Path) -> None:
        fails = faulty(home, "sys.exit(9) if NB < 64 else None")
        code, said, trials = self.tune(hpltune, *fails, "--set", "N=600", "--set", "NB=96", "--trials", "1")
        assert code == 0, said
        assert "and is tried with another configuration." in said
        assert [(trial["kind"], trial["state"]) for trial in trials[:2]] == [
            ("pilot", "failed"),
            ("pilot", "complete"),
        ]

    def test_what_fails_each_time_is_one_sentence_after_two_runs(self, hpltune: Run, home: Path) -> None:
        code, said, trials = self.tune(hpltune, *faulty(home, "sys.exit(9)"), "--set", "N=600", "--trials", "1")
        assert code == 1
        assert "\nhpltune: the first run of HPL failed, so nothing can be tuned: " in said
        assert said.endswith(" 2` tells what it printed, `hpltune doctor` what is missing here\n"), said
        assert len(trials) == 2

    def test_what_was_never_started_is_not_tried_again(self, hpltune: Run, home: Path) -> None:
        gone = faulty(home, "time.sleep(3); Path(sys.argv[0]).unlink()")  # once each rank has begun
        code, _, trials = self.tune(hpltune, *gone, "--trials", "2", "--budget", "10m")
        assert code == 1
        assert [(trial["kind"], trial["state"]) for trial in trials] == [("pilot", "complete"), ("pilot", "failed")]

    def test_a_budget_smaller_than_one_run_is_refused_and_leaves_nothing_behind(self, hpltune: Run, home: Path) -> None:
        code, said, trials = self.tune(hpltune, *faulty(home, ""), "--set", "N=12000", "--budget", "3s")
        assert code == 1
        assert "more than the budget (3.0 s of wall time) allows: a search needs --budget " in said
        assert "or a smaller N with --set N=…" in said
        assert not trials
        assert not list((home / "data/runs").iterdir())
