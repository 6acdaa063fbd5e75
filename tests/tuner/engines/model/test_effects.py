"""The learnt effects: the quick way of adding them up says what the formula says."""

import numpy as np
import pytest

from tuner.engines.model.belief import expected_improvement
from tuner.engines.model.covariance import Effects, Scales, sums
from tuner.engines.points import Codes, Matrix

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
