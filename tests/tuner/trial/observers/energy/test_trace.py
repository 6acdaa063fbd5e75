"""Powers over the time of a solve, from readings of watts and of counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tuner.trial.observers.energy.contract import HERE, PowerPart
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
