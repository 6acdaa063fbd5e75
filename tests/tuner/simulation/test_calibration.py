"""What a model of a machine is checked against."""

from tuner.simulation.calibration import CheckedRanks, check_points


def test_checks_fill_all_cores_and_grow_with_the_nodes() -> None:
    one = check_points(CheckedRanks(4, "openblas", "auto"), 8192, 12)
    assert {point["grid"] for point in one} == {"1x4", "2x2", "4x1"}
    assert {point["N"] for point in one} == {2000, 3000, 4000, 6000, 8000}
    eight = check_points(CheckedRanks(4, "openblas", "auto", nodes=8, binding="none"), 16384, 12)
    assert {point["N"] for point in eight} == {4000, 6000, 8000, 12000, 16000}
    assert {point["binding"] for point in eight} == {"none"}
    assert {point["N"] for point in check_points(CheckedRanks(4, "openblas", "auto"), 1500, 2)} == {1500}
