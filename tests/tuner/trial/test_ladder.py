"""The rungs a study has, what a stored trial was, and the runs that watch the machine."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from record_builders import finished

from hpl.params import HplParams
from results.metrics import prefix_gflops
from results.record import Kind, TrialRecord, TrialState
from tuner.engines.outcomes import FULL, GIVEN_UP, Fidelity, Question, Rung
from tuner.study.search.drift_monitor import EVERY, DriftMonitor, anchor_rate
from tuner.trial.ladder import SMALL_PART, ladder, outcome_of, rung_of, small_n

SMALL = Rung(Fidelity.SMALL, SMALL_PART)


def trial(kind: Kind, **changes: Any) -> TrialRecord:
    return finished(1, kind=kind, **changes)


def test_a_long_run_has_all_rungs_and_one_that_hardly_computes_none() -> None:
    assert [rung.fidelity for rung in ladder(40_000, 600.0, 2.0, prefixes=True)] == [
        "small",
        "prefix",
        "full",
    ]
    assert ladder(40_000, 600.0, 2.0, prefixes=False) == (SMALL, FULL)
    assert ladder(3_000, 0.2, 1.5, prefixes=True) == (FULL,)
    assert ladder(1_000, 600.0, 0.0, prefixes=False) == (FULL,)


def test_operations_of_the_rungs() -> None:
    assert Rung(Fidelity.SMALL, 0.5).operations == pytest.approx(0.125)
    assert Rung(Fidelity.PREFIX, 0.5).operations == pytest.approx(0.875)
    assert FULL.operations == 1.0
    assert small_n(10_000, 0.35) % 64 == 0


def test_a_small_run_and_a_prefix_are_told_as_such() -> None:
    small = outcome_of(trial(Kind.SMALL, part=0.349, session=2))
    assert (small.rung, small.gflops, small.session) == (SMALL, 75.5, 2)
    prefix = trial(Kind.PREFIX, part=0.0493, time_s=0.3, gflops=None, passed=None, residual=None)
    told = outcome_of(prefix)
    assert told.rung == Rung(Fidelity.PREFIX, 0.05)
    assert told.gflops == prefix_gflops(prefix) == pytest.approx(0.1417 * 2 / 3 * 6000**3 / 0.3 / 1e9, rel=0.01)


def test_a_run_that_was_given_up_is_told_as_that() -> None:
    record = trial(Kind.GIVEN_UP, part=0.29, time_s=1.0, gflops=None, passed=None, reason="whatever words say so")
    told = outcome_of(record)
    assert (told.state, told.rung) == (GIVEN_UP, Rung(Fidelity.PREFIX, 0.3))
    assert told.gflops == prefix_gflops(record)
    assert outcome_of(replace(record, kind=Kind.PREFIX)).state == "complete"


def test_a_prefix_that_failed_has_no_rate() -> None:
    record = trial(Kind.PREFIX, part=0.05, time_s=None, gflops=None, state=TrialState.FAILED, hpl=None)
    assert outcome_of(record).gflops is None
    assert rung_of(record).fidelity is Fidelity.PREFIX


def test_a_small_run_whose_residual_failed_tells_nothing() -> None:
    record = trial(Kind.SMALL, part=0.35, passed=False, state=TrialState.FAILED, hpl=HplParams(2048, 64, 1, 2))
    assert outcome_of(record).gflops is None


def test_the_first_cheap_question_comes_again_every_so_often() -> None:
    drift = DriftMonitor()
    first, other = Question({"NB": 64}, SMALL), Question({"NB": 128}, SMALL)
    assert drift.due() is None
    drift.note(first, 50.0)
    for _ in range(EVERY - 1):
        drift.note(other, 60.0)
        assert drift.due() is None
    drift.note(Question({"NB": 32}), 70.0)
    assert drift.due() == first
    assert drift.note(first, 50.5) is None
    assert drift.due() is None


def test_a_machine_that_became_slower_is_noticed_once() -> None:
    drift = DriftMonitor()
    question = Question({"NB": 64}, SMALL)
    drift.note(question, 50.0)
    assert drift.note(question, 50.4) is None
    assert drift.note(question, 40.0) is None, "one run may be a disturbed one"
    assert drift.due() == question, "so it runs again soon"
    sentence = drift.note(question, 40.5)
    assert sentence == (
        "The machine got 19 % slower: the same small run gave 40 and then 40.5 GFLOPS. What else runs here?"
    )
    assert drift.due() is None
    assert drift.note(question, 40.2) is None


def test_one_disturbed_run_is_no_change_of_the_machine() -> None:
    drift, question = DriftMonitor(), Question({"NB": 64}, SMALL)
    told = [drift.note(question, rate) for rate in (50.0, 50.4, 25.0, 50.1, 50.2, 25.0, 49.9, 80.0, 40.0)]
    assert not any(told)
    assert drift.moved == 0.0


def test_a_large_change_is_told_in_how_many_times_and_no_more_than_both_runs_show() -> None:
    drift, question = DriftMonitor(), Question({"NB": 64}, SMALL)
    told = [drift.note(question, rate) for rate in (0.5, 0.5, 11.44, 10.0)]
    assert told[-1] is not None
    assert told[-1].startswith("The machine got 20 times as fast: the same small run gave 11.44 and then 10 GFLOPS.")
    assert drift.moved == pytest.approx(19.0)


def test_a_small_run_that_hpls_clock_cannot_tell_watches_nothing() -> None:
    small = trial(Kind.SMALL, part=0.35, gflops=11.44, time_s=0.008, hpl=HplParams(512, 384, 1, 2))
    assert anchor_rate(small) is None
    assert anchor_rate(replace(small, gflops=0.38, time_s=0.24)) == 0.38


def test_a_machine_that_recovered_is_said_to_be_as_fast_as_at_first() -> None:
    drift, question = DriftMonitor(), Question({"NB": 64}, SMALL)
    told = [drift.note(question, rate) for rate in (50.0, 50.5, 49.8, 50.0, 40.0, 40.1, 50.1, 50.0)]
    assert told[-1] == "The machine is back at its first speed: the same small run gave 50.1 and then 50 GFLOPS."


def test_a_steady_decline_is_told() -> None:
    drift, question = DriftMonitor(), Question({"NB": 64}, SMALL)
    told = [drift.note(question, 50.0 * 0.96**step) for step in range(10)]
    assert any(told)


@pytest.mark.parametrize(("noise", "most"), [(0.01, 0), (0.03, 8), (0.05, 20)])
def test_noise_is_seldom_taken_for_a_change(noise: float, most: int) -> None:
    chance = random.Random(0)  # noqa: S311 - not for secrets
    alarms = 0
    for _ in range(200):
        drift, question = DriftMonitor(), Question({"NB": 64}, SMALL)
        alarms += any(drift.note(question, 50.0 * math.exp(chance.gauss(0, noise))) for _ in range(6))
    assert alarms <= most


def test_an_anchor_under_way_is_not_asked_again() -> None:
    drift, question = DriftMonitor(soon=True), Question({"NB": 64}, SMALL)
    drift.note(question, 50.0)
    assert drift.due() == question
    assert drift.due() is None


def test_an_anchor_that_fails_is_not_asked_again_at_once() -> None:
    drift = DriftMonitor(soon=True)
    question = Question({"NB": 64}, SMALL)
    drift.note(question, 50.0)
    assert drift.due() == question
    assert drift.note(question, None) is None
    assert drift.due() is None


def test_a_later_session_begins_with_the_anchor() -> None:
    drift = DriftMonitor(soon=True)
    question = Question({"NB": 64}, SMALL)
    assert drift.due() is None
    drift.note(question, 50.0)
    assert drift.due() == question
    drift.note(question, 50.0)
    assert drift.due() is None
