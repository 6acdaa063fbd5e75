"""When a search may ask for one more trial, on a machine and on a virtual cluster."""

from dataclasses import replace

import pytest
from record_builders import finished

from results.record import TrialState
from tuner.budget import Budget, Meter
from tuner.clock import ToldClock
from tuner.study.search.loop import BudgetRule, FailuresInARow, SearchState

FRESH = SearchState(full_s=10.0, without_result=True)
LATER = SearchState(full_s=10.0, full_asked=True)


def rule(*, virtual: bool, reserved_runs: float = 0.0, spent_s: float = 0.0, trials: int = 0) -> BudgetRule:
    """Of a study with 100 s."""
    meter = Meter(Budget(wall_s=100.0), ToldClock(), spent_wall_s=spent_s, trials=trials)
    wanted = 3 + reserved_runs if virtual else None
    return BudgetRule(meter=meter, reserved_runs=reserved_runs, virtual_clock=virtual, wanted_runs=wanted)


def test_the_first_trial_is_always_allowed() -> None:
    assert rule(virtual=False, spent_s=200.0).out_of_time(FRESH) is None
    assert rule(virtual=False, spent_s=200.0, trials=1).out_of_time(FRESH) is not None


def test_until_there_is_a_result_no_time_is_reserved_for_later_runs() -> None:
    one = rule(virtual=False, reserved_runs=3.0, spent_s=75.0, trials=1)
    assert one.out_of_time(FRESH) is None
    assert one.out_of_time(LATER) == "another run and 3 confirming runs need 40 s, more than is left"


def test_on_a_virtual_cluster_time_refuses_nothing_before_a_full_run_was_asked() -> None:
    one = rule(virtual=True, spent_s=200.0, trials=5)
    assert one.out_of_time(replace(LATER, full_asked=False)) is None
    assert one.out_of_time(LATER) is not None


def test_what_runs_on_a_virtual_cluster_still_takes_its_time() -> None:
    running = replace(LATER, running=2)
    assert rule(virtual=True, spent_s=75.0).out_of_time(LATER) is None
    assert rule(virtual=True, spent_s=75.0).out_of_time(running) is not None
    assert rule(virtual=False, spent_s=75.0).out_of_time(running) is None


def test_on_a_virtual_cluster_the_first_run_must_tell_what_runs_take() -> None:
    unknown = SearchState(full_s=0.0, running=1)
    assert rule(virtual=True).must_wait(unknown)
    assert not rule(virtual=True).must_wait(replace(unknown, running=0))
    assert not rule(virtual=False).must_wait(unknown)


@pytest.mark.parametrize(
    ("trials", "full_s", "counts"), [(5, 10.0, True), (5, 30.0, False), (None, 1.0, False), (5, 0.0, False)]
)
def test_where_trials_run_out_before_the_time_cheap_runs_are_not_worth_a_trial(
    trials: int | None, full_s: float, *, counts: bool
) -> None:
    meter = Meter(Budget(trials=trials, wall_s=100.0), ToldClock(), trials=1)
    later = replace(LATER, full_s=full_s)
    assert BudgetRule(meter=meter, reserved_runs=1.0, exact=True).counts_only(later) is counts
    assert not BudgetRule(meter=meter, reserved_runs=1.0).counts_only(later), "repeats tell something where runs differ"


def test_a_budget_below_one_run_is_told_with_what_a_search_needs() -> None:
    long = replace(LATER, full_s=150.0)
    assert "a search needs ⟦budget⟧ " in (rule(virtual=True, reserved_runs=6.0).out_of_time(long) or "")


@pytest.mark.parametrize(("trials", "ends"), [(None, True), (50, False)])
def test_failures_end_a_search_only_where_they_use_up_no_budget(*, trials: int | None, ends: bool) -> None:
    failures = FailuresInARow()
    one = BudgetRule(
        meter=Meter(Budget(trials=trials, wall_s=100.0), ToldClock()),
        reserved_runs=0.0,
        virtual_clock=True,
        failures=failures,
        most_failures=2,
    )
    failed = replace(finished(1, None, passed=None), state=TrialState.FAILED)
    for record in (failed, finished(2, 10.0), failed):
        failures.learn(record)
        assert one.out_of_trials(LATER) is None
    failures.learn(failed)
    assert (one.out_of_trials(LATER) == "the last 2 simulations failed, and failures use up no budget") is ends


def test_the_last_trial_is_a_full_run() -> None:
    assert not rule(virtual=False).is_last(LATER)
    assert rule(virtual=False, spent_s=85.0).is_last(LATER)
    assert rule(virtual=False).room(LATER) == 7
    assert rule(virtual=False).room(replace(LATER, full_s=0.0)) == 0
