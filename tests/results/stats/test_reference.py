"""Whether a machine changed or has two speeds, and how often a steady one is said to."""

import numpy as np
import pytest

from results.stats.unfit import FALSE_ALARM, two_speeds
from tuner.study.machine_changes import drift

STUDIES = 600
MOST_FALSE = FALSE_ALARM + 3 * (FALSE_ALARM / STUDIES) ** 0.5
"""Three standard errors above what is stated."""


def runs(chance: np.random.Generator, count: int, noise: float, falls: float = 0.0) -> list[tuple[float, float]]:
    """Runs of a reference, the machine falling evenly by a part."""
    slowed = np.log1p(-falls) * np.arange(count) / max(1, count - 1)
    return list(enumerate(np.exp(4.0 + slowed + noise * chance.standard_normal(count))))


@pytest.mark.parametrize("count", [3, 4, 7])
@pytest.mark.parametrize("noise", [0.003, 0.01, 0.05])
def test_a_steady_machine_is_said_to_drift_as_often_as_is_stated(count: int, noise: float) -> None:
    chance = np.random.default_rng([count, int(1000 * noise)])
    false = [
        drift(runs(chance, count, noise), [noise * chance.standard_normal(2) for _ in range(3)]) for _ in range(STUDIES)
    ]
    assert np.mean(np.array(false) != 0) <= MOST_FALSE


def test_a_drift_far_above_the_noise_is_seen_with_its_size_and_sign() -> None:
    chance = np.random.default_rng(1)
    repeats = [0.01 * chance.standard_normal(2) for _ in range(3)]
    assert drift(runs(chance, 5, 0.005, 0.2), repeats) == pytest.approx(-0.2, abs=0.03)
    assert drift(runs(chance, 5, 0.005, -0.2), repeats) == pytest.approx(0.2, abs=0.03)


def test_two_runs_or_runs_at_one_time_show_no_drift() -> None:
    repeats = [np.array([0.0, 0.001]), np.array([0.0, 0.0])]
    assert drift([(0.0, 100.0), (1.0, 80.0)], repeats) == 0.0
    assert drift([(0.0, 100.0), (0.0, 80.0), (0.0, 100.0)], repeats) == 0.0


def test_runs_that_are_all_alike_show_neither() -> None:
    assert drift([(0.0, 100.0), (1.0, 100.0), (2.0, 100.0)]) == 0.0
    assert two_speeds([np.zeros(3), np.zeros(3)]) == 0.0


@pytest.mark.parametrize("sizes", [(3, 3, 3), (4, 3, 3, 3), (5,), (2, 2), (3,) * 40])
@pytest.mark.parametrize("noise", [0.01, 0.04])
def test_a_machine_with_one_speed_is_said_to_have_two_as_often_as_is_stated(
    sizes: tuple[int, ...], noise: float
) -> None:
    chance = np.random.default_rng([len(sizes), int(1000 * noise)])
    false = [two_speeds([noise * chance.standard_normal(size) for size in sizes]) for _ in range(STUDIES)]
    assert np.mean(np.array(false) != 0) <= MOST_FALSE


def test_two_speeds_far_apart_are_mostly_seen_with_their_distance() -> None:
    chance = np.random.default_rng(1)
    found = []
    for _ in range(100):
        states = [-0.08 * chance.integers(0, 2, size) for size in (3, 3, 3, 6)]
        found.append(two_speeds([0.005 * chance.standard_normal(len(own)) + own for own in states]))
    assert np.mean(np.array(found) > 0) > 0.95
    assert np.median([apart for apart in found if apart]) == pytest.approx(0.08, abs=0.01)
