"""What a model of a machine is checked against."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from record_builders import DISTURBED, QUIET, finished

from results.disturbance import Conditions
from tuner.simulation.calibration import Measurements, check_of, check_points
from tuner.simulation.simulator import Simulated


def test_checks_fill_all_cores_and_grow_with_the_nodes() -> None:
    one = check_points({}, 4, 8192, 12)
    assert {point["grid"] for point in one} == {"1x4", "2x2", "4x1"}
    assert {point["N"] for point in one} == {2000, 3000, 4000, 6000, 8000}
    eight = check_points({"binding": "none"}, 4, 16384, 12, nodes=8)
    assert {point["N"] for point in eight} == {4000, 6000, 8000, 12000, 16000}
    assert {point["binding"] for point in eight} == {"none"}
    assert {point["N"] for point in check_points({}, 4, 1500, 2)} == {1500}


def test_of_a_blas_only_undisturbed_timings_count_and_what_was_disturbed_each_time_is_measured_again() -> None:
    quiet = finished(1, 0.0, key="openblas", measurements=QUIET)
    loaded = finished(2, 0.0, key="openblas", measurements=DISTURBED)
    other = finished(3, 0.0, key="blis", measurements=DISTURBED)
    found = Measurements([(loaded, {}), (quiet, {}), (other, {})], [replace(loaded, key="0"), replace(quiet, key="1")])
    assert [record.number for record, _ in found.counting()] == [1, 3]
    assert [key for key in ("openblas", "blis", "0", "1", "2") if found.is_disturbed(key)] == ["blis", "0"]


@pytest.mark.parametrize(
    ("measured", "rates", "conditions"),
    [
        ((DISTURBED, QUIET), (12.0,), Conditions.UNDISTURBED),
        ((DISTURBED, DISTURBED), (10.0, 12.0), Conditions.DISTURBED),
        (({}, {}), (10.0, 12.0), Conditions.UNKNOWN),
    ],
)
def test_a_check_has_the_rates_of_its_runs_that_count(
    measured: tuple[Mapping[str, float], Mapping[str, float]], rates: tuple[float, ...], conditions: Conditions
) -> None:
    runs = [
        finished(number, gflops, key="0", measurements=figures)
        for number, gflops, figures in zip((1, 2), (10.0, 12.0), measured, strict=True)
    ]
    check = check_of({}, runs, Simulated(11.0, 1.0))
    assert (check.gflops, check.conditions) == (rates, conditions)
