"""Whether a machine got slower, told by rates before and now."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.stats.occasions import MOST_RUNS, SURE, runs_to_tell, speed_change

RATES = st.lists(st.floats(0.5, 1.0), min_size=1, max_size=4)


def test_a_machine_that_runs_as_before_is_hardly_slower() -> None:
    change = speed_change([100.0, 100.4, 99.7], [99.9, 100.2, 99.8])
    assert change.probability_slower < 0.01
    assert change.can_tell
    assert not change.slower


def test_a_machine_that_lost_a_tenth_is_slower_by_that() -> None:
    change = speed_change([100.0, 100.4, 99.7], [90.0, 90.3, 89.8])
    low, high = change.interval_percent
    assert change.probability_slower > SURE
    assert change.slower
    assert low < change.change_percent < high < -2
    assert change.change_percent == pytest.approx(-10.0, abs=0.3)


def test_a_loss_within_the_tolerance_is_none() -> None:
    assert not speed_change([100.0, 100.4, 99.7], [90.0, 90.3, 89.8], tolerance=0.15).slower
    assert speed_change([100.0, 100.4, 99.7], [90.0, 90.3, 89.8], tolerance=0.15).can_tell


@pytest.mark.parametrize("now", [100.0, 97.0, 90.0])
def test_one_run_of_each_cannot_tell(now: float) -> None:
    assert not speed_change([100.0], [now]).can_tell


def test_one_disturbed_run_among_three_says_nothing() -> None:
    change = speed_change([100.0, 100.4, 99.6], [100.2, 60.0, 99.9])
    assert change.can_tell
    assert not change.slower


def test_noisier_runs_make_it_less_sure() -> None:
    quiet = speed_change([100.0, 100.4, 99.7], [95.0, 95.3, 94.8])
    noisy = speed_change([100.0, 106.0, 94.0], [95.0, 101.0, 89.0])
    assert quiet.noise < noisy.noise
    assert quiet.probability_slower > SURE > noisy.probability_slower


def test_as_many_more_runs_as_it_says_tell_if_they_are_like_those_before() -> None:
    before, now = [100.0, 100.5], [97.5, 97.0, 98.0]
    assert not speed_change(before, now).can_tell
    more = runs_to_tell(before, now)
    assert more is not None
    assert speed_change(before, [*now, *([97.5] * more)]).can_tell


def test_no_number_of_runs_makes_up_for_a_baseline_that_ran_once() -> None:
    assert runs_to_tell([100.0], [98.0]) is None


def test_hundreds_of_runs_still_give_a_number() -> None:
    change = speed_change([100.0] * 10 * MOST_RUNS, [90.0] * 10 * MOST_RUNS)
    assert change.probability_slower == pytest.approx(1.0)


@settings(max_examples=40)
@given(before=RATES, now=RATES, faster=st.floats(1.0, 1.5))
def test_a_machine_whose_runs_are_all_faster_is_not_more_probably_slower(
    before: list[float], now: list[float], faster: float
) -> None:
    change, better = speed_change(before, now), speed_change(before, [rate * faster for rate in now])
    assert 0.0 <= better.probability_slower <= change.probability_slower + 1e-6 <= 1.0 + 1e-6
    assert better.change_percent >= change.change_percent - 1e-4
