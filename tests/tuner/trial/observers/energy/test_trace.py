"""Powers over the time of a solve, from readings of watts and of counters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tuner.trial.observers.energy.contract import HERE, PowerPart, PowerSourceError
from tuner.trial.observers.energy.trace import MOST_KEPT, Trace


@given(some.integers(2, 2000), some.floats(10, 1000))
def test_a_long_time_keeps_only_so_many_powers_of_all_parts_together(readings: int, watts: float) -> None:
    told = Trace([PowerPart(HERE), PowerPart(HERE, counts=True), PowerPart("another node")])
    for second in range(readings):
        told.add(float(second), (watts, watts * second, 1e5))
    times_s, power = told.power_w(0.0, float(readings))
    assert len(times_s) == len(power) <= MOST_KEPT
    assert list(times_s) == sorted(times_s)
    assert power == pytest.approx([2 * watts] * len(power))


@pytest.mark.parametrize(
    ("watts", "why"),
    [
        (0.0, "told 0 W"),
        (-4.0, "told -4 W"),
        (65535.0, "told 65535 W, which means that the meter does not know"),
        (math.nan, "told no number of watts"),
        (math.inf, "told no number of watts"),
    ],
)
def test_a_power_that_no_node_draws_is_refused(watts: float, why: str) -> None:
    told = Trace([PowerPart(HERE)])
    for second in range(10):
        told.add(float(second), (200.0 if second < 5 else watts,))
    with pytest.raises(PowerSourceError, match=why):
        told.energy_j(0.0, 9.0)


@pytest.mark.parametrize(
    ("joules", "why"),
    [
        ([1e9] * 10, "told 0 W: the counter stood still"),
        ([1e9 - 1e3 * second for second in range(10)], r"jumped back from 1e\+09 to 9.99999e\+08 J"),
        ([-5.0] * 10, "told -5 J"),
        ([math.nan] * 10, "told nan J"),
        ([1e9] * 5 + [1e18] * 5, r"jumped by 1e\+18 J in 1.0 s"),
    ],
)
def test_a_counter_that_cannot_be_true_is_refused(joules: list[float], why: str) -> None:
    told = Trace([PowerPart(HERE, counts=True)])
    for second, value in enumerate(joules):
        told.add(float(second), (value,))
    with pytest.raises(PowerSourceError, match=why):
        told.energy_j(0.0, 9.0)


def test_a_counter_that_begins_again_has_no_power_below_zero() -> None:
    told = Trace([PowerPart(HERE, counts=True, range_j=1000.0)])
    for second, joules in enumerate((700.0, 900.0, 100.0, 300.0)):
        told.add(10.0 + second, (joules,))
    assert told.power_w(10.0, 13.0) == ([0.5, 1.5, 2.5], [200.0, 200.0, 200.0])


def test_a_source_whose_readings_may_be_old_has_no_power_of_moments() -> None:
    told = Trace([PowerPart(HERE, counts=True)], period_s=30.0)
    for time_s, joules in ((0.0, 0.0), (30.0, 0.0), (60.0, 6000.0)):
        told.add(time_s, (joules,))
    assert told.power_w(0.0, 60.0) == ((), ())
