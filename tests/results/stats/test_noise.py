"""By how much runs differ, told by simulated ones whose noise is known."""

from statistics import fmean

import numpy as np
import pytest

from results.stats.noise import noise_of

STUDIES = 400
CERTAINTY = 0.99


def reached(sd: float, repeats: int, configurations: int) -> float:
    """How often one more run of equal configurations is at least what is said of the one that was luckiest."""
    chance = np.random.default_rng(3)
    found = []
    for _ in range(STUDIES):
        noise = noise_of(list(chance.normal(0.0, sd, (repeats, 2))))
        luckiest = np.exp(chance.normal(0.0, sd, configurations).max())
        found.append(np.exp(chance.normal(0.0, sd)) >= noise.one_more(float(luckiest), 1, CERTAINTY))
    return fmean(found)


@pytest.mark.heavy
@pytest.mark.parametrize("sd", [0.004, 0.01, 0.07, 0.3])
@pytest.mark.parametrize(("repeats", "least"), [(3, 0.95), (8, 0.98)])
def test_one_more_run_reaches_what_is_said_with_the_certainty_that_is_said(
    sd: float, repeats: int, least: float
) -> None:
    assert reached(sd, repeats, configurations=1) > least


@pytest.mark.parametrize("sd", [0.01, 0.07])
def test_that_holds_nearly_for_the_luckiest_of_ten(sd: float) -> None:
    assert reached(sd, 8, configurations=10) > 0.9


@pytest.mark.parametrize("sd", [0.01, 0.07])
def test_it_holds_before_anything_ran_twice(sd: float) -> None:
    assert reached(sd, 0, configurations=1) > 0.975


def test_where_runs_are_steady_little_is_taken_off() -> None:
    chance = np.random.default_rng(3)
    steady = noise_of(list(chance.normal(0.0, 0.004, (6, 2))))
    assert steady.one_more(100.0, 1, CERTAINTY) > 96.5
    assert steady.one_more(100.0, 5, CERTAINTY) > steady.one_more(100.0, 1, CERTAINTY)


@pytest.mark.parametrize("count", [100, 1000])
def test_any_number_of_equal_runs_can_be_judged(count: int) -> None:
    assert noise_of([np.full(count, np.log(100.0))]).usual < 0.001


def test_many_runs_tell_their_noise() -> None:
    chance = np.random.default_rng(3)
    assert noise_of([chance.normal(0.0, 0.02, 300)]).usual == pytest.approx(0.02, rel=0.2)


def test_one_hiccup_is_no_noise_and_many_are() -> None:
    steady = [np.log([100.0, 100.5]), np.log([90.0, 89.6]), np.log([80.0, 80.2])]
    one, many = np.log([95.0, 70.0]), [np.log([95.0, 70.0]), np.log([70.0, 99.0]), np.log([60.0, 91.0])]
    assert noise_of([*steady, one]).usual < 0.01
    assert noise_of(many).usual > 0.1
