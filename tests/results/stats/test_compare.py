"""Differences of configurations: known data against scipy itself, and what must hold of any data."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.stats.compare import Contrast, RateSample, contrasts, holm, runs_of_each
from results.stats.noise import noise_of
from results.stats.occasions import Occasions
from results.stats.ranking import Time
from tuner.study.occasions import TimedRate, occasions_of

FAST = (75.1, 75.9, 75.4, 76.0)
SLOW = (73.9, 74.6, 74.1)
NOISE = noise_of([np.log(FAST), np.log(SLOW)])


def compared(*sides: tuple[float, ...], difference: float = 0.01) -> list[Contrast]:
    """Sides of one study."""
    return contrasts([RateSample(rates, NOISE) for rates in sides], difference)


def test_with_six_runs_it_is_welchs_test_on_logarithms() -> None:
    [found] = compared(FAST, SLOW)
    expected = stats.ttest_ind(np.log(FAST), np.log(SLOW), equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.test == "welch"
    assert found.p == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx((interval.low, interval.high))
    assert found.effect_percent == pytest.approx(100 * (stats.gmean(FAST) / stats.gmean(SLOW) - 1))
    assert found.shown


def test_with_two_runs_of_each_interval_and_test_are_of_the_same_method() -> None:
    [near], [far] = compared(FAST[:2], SLOW[:2]), compared(FAST[:2], (7.0, 7.1))
    for found in (near, far):
        assert found.test == "welch"
        assert found.interval is not None
        assert found.shown == (not found.interval[0] <= 0 <= found.interval[1])
    assert not near.shown
    assert far.shown, "ten times as fast is more than two runs differ"


def test_where_nothing_ran_twice_there_is_no_interval() -> None:
    one, other = (RateSample((rate,), noise_of([]), noise_seen=False) for rate in (833.0, 22.0))
    [found] = contrasts([one, other], 0.01)
    assert (found.interval, found.p) == (None, None)
    assert not found.shown
    assert found.effect_percent == pytest.approx(100 * (833 / 22 - 1))


def test_the_difference_between_two_occasions_is_in_the_interval_and_in_the_test() -> None:
    sides = [RateSample(FAST, NOISE), RateSample(SLOW, NOISE)]
    [then], [ever] = contrasts(sides, 0.01), contrasts(sides, 0.01, Occasions())
    assert then.shown
    assert not ever.shown, "2 % may be two occasions of one machine"
    assert ever.same_occasion == then.interval
    assert ever.seen_on_these_occasions
    assert ever.interval is not None
    assert ever.interval[0] < 0 < ever.interval[1]
    [far] = contrasts([sides[0], RateSample(tuple(rate / 2 for rate in SLOW), NOISE)], 0.01, Occasions())
    assert far.shown


STEADY = ((75.0, 75.1), (75.05,), (74.95, 75.0), (75.1,), (75.0,), (75.02,), (75.04,), (74.97,))
"""Rates of a configuration on eight occasions."""


def on_days(occasions: Sequence[Sequence[float]], apart: timedelta = timedelta(days=1)) -> list[TimedRate]:
    """The runs of some occasions, each so much later than the one before."""
    begins = [datetime(2026, 3, 1, 23, 50, tzinfo=UTC) + place * apart for place in range(len(occasions))]
    return [TimedRate(begin, rate) for begin, rates in zip(begins, occasions, strict=True) for rate in rates]


def test_runs_within_some_hours_are_of_one_occasion_even_around_midnight() -> None:
    assert occasions_of([on_days(STEADY, timedelta(minutes=15))]) == Occasions()
    assert occasions_of([on_days(STEADY, timedelta(hours=4))]).seen == 2
    days = occasions_of([on_days(STEADY), on_days(STEADY[:3])])
    assert (days.seen, days.times) == (9, 8), "both configurations ran on the same days"


@pytest.mark.parametrize("sd", [0.0, 0.01, 0.03])
def test_of_equal_machines_hardly_any_is_called_faster_however_much_occasions_differ(sd: float) -> None:
    chance = np.random.default_rng(int(1000 * sd))

    def occasion() -> tuple[float, ...]:
        level = sd * chance.standard_normal()
        return tuple(np.exp(level + 0.01 * chance.standard_normal(5)).tolist())

    def wrong(earlier: int) -> bool:
        known = occasions_of([on_days([occasion() for _ in range(earlier)])])
        one, other = occasion(), occasion()
        noise = noise_of([np.log(one), np.log(other)])
        return contrasts([RateSample(one, noise), RateSample(other, noise)], 0.01, known)[0].shown

    for earlier in (0, 5):
        assert sum(wrong(earlier) for _ in range(200)) <= 10 + 6, "5 of 100 and two standard errors"


def test_earlier_occasions_of_a_steady_machine_show_smaller_differences() -> None:
    steady = occasions_of([on_days(STEADY)])
    sides = [RateSample(FAST, NOISE), RateSample(tuple(rate - 3.0 for rate in SLOW), NOISE)]
    assert steady.seen == 7
    assert steady.sd < Occasions().sd
    assert not contrasts(sides, 0.01, Occasions())[0].shown
    assert contrasts(sides, 0.01, steady)[0].shown


@pytest.mark.parametrize(("ours", "theirs"), [(FAST[:2], SLOW), (FAST[:3], SLOW[1:])])
def test_two_and_three_runs_can_show_a_difference(ours: tuple[float, ...], theirs: tuple[float, ...]) -> None:
    [found] = compared(ours, tuple(rate - 20.0 for rate in theirs))
    assert found.test == "welch"
    assert found.shown


def test_simulated_runs_that_differ_do_differ_and_need_no_interval() -> None:
    one, same, other = (RateSample((rate,), NOISE, simulated=True) for rate in (70.0, 70.0, 70.007))
    equal, faster, _ = contrasts([other, one, same], 0.01)[2], *contrasts([other, one, same], 0.01)[:2]
    assert faster.exact
    assert faster.shown
    assert faster.effect_percent == pytest.approx(0.01)
    assert faster.interval == (faster.effect, faster.effect)
    assert faster.needed_runs == (0, 0)
    assert equal.exact
    assert not equal.shown


def test_a_single_run_has_no_test_and_the_interval_is_from_the_noise_of_the_study() -> None:
    [found] = compared(FAST, SLOW[:1])
    assert (found.test, found.p, found.p_holm) == ("none", None, None)
    assert found.interval is not None
    low, high = found.interval
    sds = NOISE.sizes * math.sqrt(1 / 4 + 1)
    inside = NOISE.weights @ (stats.norm.cdf(high - found.effect, 0, sds) - stats.norm.cdf(low - found.effect, 0, sds))
    assert inside == pytest.approx(0.95)


def test_a_noisy_study_makes_the_interval_of_a_single_run_longer() -> None:
    noisy = noise_of([np.log([60.0, 75.0, 90.0]), np.log([70.0, 50.0, 81.0])])
    steady, unsteady = (
        contrasts([RateSample((75.0,), NOISE), RateSample((70.0,), one)], 0.01)[0] for one in (NOISE, noisy)
    )
    assert steady.shown
    assert not unsteady.shown
    assert steady.interval is not None
    assert unsteady.interval is not None
    assert unsteady.interval[1] > steady.interval[1]


def test_runs_that_do_not_differ_at_all_have_no_test_and_no_interval_of_length_zero() -> None:
    [found] = compared((70.0, 70.0, 70.0), (70.7, 70.7, 70.7))
    assert found.test == "none"
    assert found.interval is not None
    assert found.interval[0] < found.effect < found.interval[1]


def test_one_side_whose_runs_are_all_alike_is_tested() -> None:
    [found] = compared((70.0, 70.0, 70.0), SLOW)
    assert found.test == "welch"
    assert found.shown


def test_holms_correction_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_only_pairs_with_a_test_are_counted_by_the_correction() -> None:
    tested, one, other = compared(FAST, SLOW, (70.0,))
    assert tested.p == tested.p_holm
    assert one.p_holm is other.p_holm is None


def test_the_needed_runs_are_those_of_the_textbook_and_decrease_with_the_difference() -> None:
    quantiles = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert runs_of_each((0.02, 0.01), 0.01) == math.ceil(quantiles**2 * (0.02**2 + 0.01**2) / math.log(1.01) ** 2)
    needed = [runs_of_each((0.02, 0.02), difference) or 0 for difference in (0.005, 0.01, 0.02, 0.04)]
    assert needed == sorted(needed, reverse=True)
    assert len(set(needed)) == 4
    assert (runs_of_each((0.02, 0.02), 0.01, level=0.01) or 0) > needed[1]


def test_no_number_of_runs_shows_a_difference_that_two_occasions_may_have() -> None:
    assert runs_of_each((0.01, 0.01), 0.03, occasions=Occasions()) is None
    assert runs_of_each((0.01, 0.01), 0.2, occasions=Occasions()) is not None
    steady = Occasions(sd=0.001, freedom=10, seen=7)
    without, with_them = (runs_of_each((0.01, 0.01), 0.01, occasions=one) or 0 for one in (None, steady))
    assert with_them > without > 0
    [seen] = contrasts([RateSample(FAST, NOISE), RateSample(SLOW, NOISE)], 0.01, Occasions())
    assert seen.needed_runs is seen.confirming_runs is None


def test_the_number_that_is_told_does_show_a_difference_between_steady_occasions() -> None:
    steady, chance, shown = Occasions(sd=0.002, freedom=20, seen=17), np.random.default_rng(5), 0
    runs = runs_of_each((0.01, 0.01), 0.02, occasions=steady)
    assert runs is not None
    for _ in range(100):
        levels = np.array([math.log(1.02), 0.0]) + steady.sd * chance.standard_normal(2)
        sides = [tuple(np.exp(level + 0.01 * chance.standard_normal(runs)).tolist()) for level in levels]
        shown += contrasts([RateSample(side, NOISE) for side in sides], 0.02, steady)[0].shown
    assert shown >= 70, "80 % are claimed, and this is two standard errors below"


def test_without_any_repeat_no_number_of_runs_is_told() -> None:
    [once] = contrasts([RateSample((rate,), NOISE, noise_seen=False) for rate in (70.0, 60.0)], 0.01)
    assert once.needed_runs is once.confirming_runs is None


def test_runs_that_there_are_need_not_be_made_again() -> None:
    few, many = compared(FAST[:2], SLOW, difference=0.001)[0], compared(FAST, SLOW, difference=0.5)[0]
    assert few.needed_runs is not None
    assert few.needed_runs[0] == few.needed_runs[1] + 1
    assert many.needed_runs == (0, 0)


rates = st.lists(st.floats(50.0, 100.0), min_size=1, max_size=5).map(tuple)


@given(rates, rates)
def test_swapping_both_sides_negates_the_effect_and_nothing_else(
    ours: tuple[float, ...], theirs: tuple[float, ...]
) -> None:
    [one], [other] = compared(ours, theirs), compared(theirs, ours)
    assert other.effect == pytest.approx(-one.effect)
    assert one.interval is not None
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-9)
    assert (other.test, other.p is None) == (one.test, one.p is None)
    if one.p is not None:
        assert other.p == pytest.approx(one.p)
    assert one.needed_runs is not None
    assert other.needed_runs == one.needed_runs[::-1]


@given(st.lists(st.floats(0.0, 1.0), max_size=8))
def test_a_corrected_p_is_never_smaller_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= new <= 1.0 for p, new in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    assert [corrected[number] for number in order] == sorted(corrected)


def in_rounds(rates: tuple[float, ...], first: int = 1) -> RateSample:
    """A side whose runs are those of consecutive rounds."""
    times = tuple(Time(0, turn) for turn in range(first, first + len(rates)))
    return RateSample(rates, NOISE, times=times)


def test_runs_of_the_same_rounds_are_compared_round_by_round() -> None:
    fast, slow = (75.0, 70.1, 66.0, 61.2), (74.2, 69.5, 65.2, 60.6)
    [found] = contrasts([in_rounds(fast), in_rounds(slow)], 0.01)
    expected = stats.ttest_rel(np.log(fast), np.log(slow))
    interval = expected.confidence_interval(0.95)
    assert found.test == "paired"
    assert found.p == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx((interval.low, interval.high))
    assert found.shown, "the machine slowed down by a fifth, for both alike"
    assert not contrasts([RateSample(fast, NOISE), RateSample(slow, NOISE)], 0.01)[0].shown


@pytest.mark.parametrize("first", [2, 9])
def test_too_few_rounds_in_common_are_no_pairs(first: int) -> None:
    [found] = contrasts([in_rounds((75.0, 75.3, 75.1, 75.2)), in_rounds((74.2, 74.5, 74.1, 74.3), first)], 0.01)
    assert found.test == "welch"
