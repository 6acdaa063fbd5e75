"""What a run is worth, which configurations are given up, and effects that are added up quickly."""

import numpy as np
import pytest
from scipy.stats import norm

from tuner.engines.hpl.search_state import chance_to_run
from tuner.engines.model.belief import expected_improvement, knowledge_gradient
from tuner.engines.model.covariance import Effects, Scales, sums
from tuner.engines.model.fitting import fitted_to
from tuner.engines.points import Codes, Matrix


def test_an_expected_excess_is_the_mean_of_what_lies_above_zero() -> None:
    drawn = norm.rvs(-0.3, 0.8, size=200_000, random_state=1)
    assert expected_improvement(np.array([-0.3]), np.array([0.8]))[0] == pytest.approx(
        np.maximum(drawn, 0).mean(), rel=0.01
    )


def test_a_run_that_moves_all_alike_is_worth_nothing() -> None:
    assert knowledge_gradient(np.array([1.0, 0.9, 0.5]), np.full((3, 1), 0.7))[0] == pytest.approx(0.0, abs=1e-9)


def test_of_two_that_may_win_the_run_that_tells_them_apart_is_worth_most() -> None:
    """The first run moves the best alone, the second the two best together, the third one that is far behind."""
    swayed = np.array([[0.1, 0.1, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    worth = knowledge_gradient(np.array([1.0, 0.98, 0.2]), swayed)
    assert worth[0] > 100 * max(worth[1:])


def test_repeating_what_is_nearly_equal_is_worth_less_than_trying_what_may_be_far_better() -> None:
    swayed = np.array([[0.004, 0.0, 0.0], [0.0, 0.004, 0.0], [0.0, 0.0, 0.06]])
    worth = knowledge_gradient(np.array([1.0, 0.998, 0.95]), swayed)
    assert worth[2] > worth[0]


def test_a_library_that_crashes_is_given_up_and_the_block_sizes_it_had_are_not() -> None:
    everything = np.array([[library, size] for library in (0, 1) for size in range(5)])
    failed = np.array([[1, 0], [1, 1], [1, 2], [1, 3]])
    chance = chance_to_run(everything, np.array([[0, 4], [0, 4]]), failed)
    assert (chance[5:] == 0).all()
    assert chance[:5] == pytest.approx(1.0)


def test_a_value_that_failed_only_beside_another_that_may_be_to_blame_is_not_given_up() -> None:
    everything = np.array([[library, size] for library in (0, 1) for size in (0, 1)])
    chance = chance_to_run(everything, np.array([[1, 1], [1, 1]]), np.array([[0, 0]] * 4))
    assert 0 < chance[2] < 0.1
    assert chance[3] == pytest.approx(1.0)


def test_one_failure_of_many_hardly_counts() -> None:
    chance = chance_to_run(np.array([[0], [1]]), np.zeros((9, 1), dtype=int), np.array([[0]]))
    assert chance == pytest.approx([10 / 11, 1.0])


def test_nothing_is_doubted_before_something_failed() -> None:
    none = np.empty((0, 2), dtype=int)
    assert chance_to_run(np.array([[0, 3]]), none, none) == pytest.approx(1.0)


def test_all_of_a_few_runs_are_fitted_to_and_of_many_only_every_so_many() -> None:
    assert [fitted_to(count) for count in range(1, 10)] == list(range(1, 10))
    assert len({fitted_to(count) for count in range(100, 200)}) < 10
    assert all(fitted_to(count) <= count < 1.13 * fitted_to(count) + 1 for count in range(1, 500))


TABLES = [np.array([[1.0, 0.4], [0.4, 1.0]]), np.eye(3), np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.5], [0.1, 0.5, 1.0]])]
SCALES = Scales(np.array([0.3, 0.08, 0.01]), pair=0.4, rest=0.02, apart=np.array([0.6]), noise=np.array([0.01, 0.01]))


def drawn(count: int, seed: int) -> Codes:
    chance = np.random.default_rng(seed)
    return np.stack([chance.integers(0, len(table), count) for table in TABLES], axis=1)


def by_formula(ones: Codes, others: Codes) -> Matrix:
    alike = [table[np.ix_(mine, theirs)] for table, mine, theirs in zip(TABLES, ones.T, others.T, strict=True)]
    relevant = SCALES.amplitude / (SCALES.amplitude + 0.02)
    together = np.prod([1 - part * (1 - one) for part, one in zip(relevant, alike, strict=True)], axis=0)
    return np.asarray(sums(SCALES, alike, alike[0].shape)[0] + SCALES.rest**2 * together)


def test_covariances_are_those_of_the_formula() -> None:
    ones, others = drawn(7, 0), drawn(11, 1)
    assert Effects(SCALES, TABLES).covariance(ones, others) == pytest.approx(by_formula(ones, others))


def test_a_configuration_varies_with_itself_by_the_variance_of_all() -> None:
    effects, codes = Effects(SCALES, TABLES), drawn(9, 2)
    assert np.diag(effects.covariance(codes, codes)) == pytest.approx(np.full(9, effects.variance))


def test_a_space_of_one_configuration_has_no_effects_but_the_rest() -> None:
    alone = Scales(np.zeros(0), pair=0.4, rest=0.02, apart=np.zeros(0), noise=np.array([0.01]))
    codes = np.zeros((2, 0), dtype=np.intp)
    assert Effects(alone, []).covariance(codes, codes) == pytest.approx(np.full((2, 2), 0.02**2))


def test_the_excess_over_zero_is_the_mean_far_above_it_and_nothing_far_below() -> None:
    means = np.array([1.0, 0.0, -1.0])
    assert expected_improvement(means, np.full(3, 0.1)) == pytest.approx(
        [1.0, 0.1 / np.sqrt(2 * np.pi), 0.0], abs=1e-12
    )
