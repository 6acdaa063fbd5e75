import re
from dataclasses import replace
from datetime import timedelta

import pytest
from record_builders import START, begun, finished

from results.record import TrialRecord
from runners.virtual.load import load_cluster
from tuner.budget import Budget, Meter
from tuner.clock import ToldClock
from tuner.simulation.cluster import cluster_dict
from tuner.simulation.options import time_budget
from tuner.study.lifecycle import elapsed_s


def meter(budget: Budget, spent_wall_s: float = 0.0) -> tuple[Meter, ToldClock]:
    clock = ToldClock()
    return Meter(budget, clock, spent_wall_s), clock


def test_a_budget_without_limits_never_ends() -> None:
    spent, clock = meter(Budget())
    clock.sleep(1e9)
    assert spent.out_of_time(1e9) is None
    assert spent.out_of_trials() is None
    assert spent.remaining_s() is None


def test_the_trials_of_a_budget_are_counted_but_pilot_runs_are_not() -> None:
    spent, _ = meter(Budget(trials=2))
    spent.charge(1.0, trial=False)
    spent.charge(1.0, trial=True)
    assert spent.out_of_trials() is None
    spent.charge(1.0, trial=True)
    assert spent.out_of_trials() == "all 2 trials are done"


def test_a_run_that_would_not_fit_any_more_is_not_started() -> None:
    spent, clock = meter(Budget(wall_s=100))
    clock.sleep(95)
    assert spent.out_of_time(4.0) is None
    assert spent.out_of_time(6.0) == "another run needs 6.0 s, more than is left"


def test_the_runs_that_must_follow_another_one_are_no_part_of_it() -> None:
    spent, clock = meter(Budget(wall_s=100))
    clock.sleep(20)
    assert spent.out_of_time(9.8, runs=8.0) is None
    assert spent.out_of_time(9.8, runs=8.3) == ("another run and 7 confirming runs need 1 min 21 s, more than is left")


def test_the_tighter_of_two_limits_in_time_decides() -> None:
    spent, clock = meter(Budget(wall_s=100, run_s=10))
    clock.sleep(20)
    spent.charge(7.0, trial=True)
    assert spent.remaining_s() == 3.0


def test_a_resumed_study_goes_on_with_what_it_had_spent() -> None:
    spent, clock = meter(Budget(wall_s=100), spent_wall_s=90)
    clock.sleep(5)
    assert spent.wall_s == 95
    assert spent.out_of_time(6.0) is not None


def test_trials_that_ran_at_the_same_time_took_the_time_only_once() -> None:
    def ran(first_s: float, last_s: float) -> TrialRecord:
        at, until = (START + timedelta(seconds=seconds) for seconds in (first_s, last_s))
        return finished(1, started_at=at, ended_at=until)

    assert elapsed_s([ran(5, 12), ran(0, 10), ran(1, 2), ran(20, 21), begun()]) == 13
    assert elapsed_s([]) == 0


@pytest.mark.parametrize(
    ("budget", "option"), [(Budget(wall_s=10.0), "⟦budget⟧ 12m"), (Budget(wall_s=100.0, run_s=10.0), "⟦run_time⟧ 12m")]
)
def test_a_budget_smaller_than_one_run_says_what_a_search_needs(budget: Budget, option: str) -> None:
    assert budget.too_small(10.0, runs=9.0) is None
    sentence = budget.too_small(80.0, runs=9.0)
    assert sentence is not None
    assert sentence.startswith(f"one run takes about 1 min 20 s, more than the budget ({budget}) allows: ")
    assert sentence.endswith(f"a search needs {option} or more")
    assert Budget(trials=1).too_small(1e9, runs=9.0) is None


def test_confirmation_runs_do_not_look_at_the_number_of_trials() -> None:
    spent, _ = meter(Budget(trials=1, wall_s=100))
    spent.charge(1.0, trial=True)
    assert spent.out_of_time(1.0) is None


def test_money_pays_for_the_dearest_network_of_a_cluster() -> None:
    plain = {**cluster_dict(load_cluster("kronos")), "price_usd": None, "power_w": None}
    cheap = {**load_cluster("kronos").networks["gige"].model_dump(), "switch": {"price_usd": 100.0}}
    dear = {**cheap, "switch": {"price_usd": 50_000.0}}
    assert time_budget("20usd", {**plain, "networks": {"cheap": cheap, "dear": dear}}, 1) == time_budget(
        "20usd", {**plain, "networks": {"dear": dear}}, 1
    )


def test_a_budget_and_what_is_left_of_it_are_told_in_the_unit_that_was_asked_for() -> None:
    money = time_budget("20usd", cluster_dict(load_cluster("kronos")), 1)
    assert money.wall_s is not None
    assert re.fullmatch(r"\$20.00 = \d+ h \d\d min of wall time", str(money))
    spent, clock = meter(money)
    clock.sleep(0.75 * money.wall_s)
    assert spent.left() == "$5.00"
    spent, clock = meter(replace(time_budget("2nh", None, 4), run_s=900.0))
    assert str(spent.budget) == "2 node-hours = 30 min of wall time, 15 min of HPL runs"
    assert spent.left() == "15 min"
    clock.sleep(1350)
    assert spent.left() == "0.5 node-hours"
    clock.sleep(1350)
    assert spent.left() == "0 node-hours"
    assert str(time_budget("1234nh", None, 4)).startswith("1234 node-hours")
    assert meter(Budget())[0].left() is None


def test_trials_that_are_left_are_told_until_none_is() -> None:
    spent, clock = meter(Budget(trials=3, wall_s=60.0))
    assert (spent.spent(), spent.left()) == (0.0, "1 min, 3 trials")
    clock.sleep(15)
    assert spent.spent() == 0.25
    for left in ("45 s, 2 trials", "45 s, 1 trial", "45 s"):
        spent.charge(1.0, trial=True)
        assert spent.left() == left
    assert spent.spent() == 1.0
    assert meter(Budget())[0].spent() is None
    spent, _ = meter(Budget(trials=1))
    assert (spent.spent(), spent.left()) == (0.0, "1 trial")
    spent.charge(1.0, trial=True)
    assert (spent.spent(), spent.left()) == (1.0, None)


def test_a_budget_says_itself_in_words() -> None:
    assert str(Budget(trials=3, wall_s=300)) == "3 trials, 5 min of wall time"
    assert str(Budget()) == "no limit"


@pytest.mark.parametrize(
    ("budget", "trials", "spent_s", "last"),
    [
        (Budget(trials=5), 3, 0.0, False),
        (Budget(trials=5), 4, 0.0, True),
        (Budget(wall_s=100.0), 50, 40.0, False),
        (Budget(wall_s=100.0), 50, 65.0, True),
        (Budget(), 50, 1e9, False),
    ],
)
def test_the_last_trial_of_a_budget_is_known_as_such(
    budget: Budget, trials: int, spent_s: float, *, last: bool
) -> None:
    meter = Meter(budget, ToldClock(), spent_wall_s=spent_s, trials=trials)
    assert meter.last(full_s=10.0, reserved_runs=3.0) is last
