import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.nodes.statistics.odd_nodes import histogram, normal_quantiles, robust_sd, shape_of

POSITIVE = st.floats(0.1, 1e6)


@pytest.mark.parametrize(
    ("low", "high", "printed"),
    [(615.77, 632.08, 2.65), (159.78, 225.08, 40.87), (2031.43, 2147.98, 5.74), (11.62, 12.04, 3.61)],
)
def test_the_spread_is_the_figure_that_stab_prints(low: float, high: float, printed: float) -> None:
    assert round(shape_of([low, high]).spread_percent, 2) == printed


@given(st.lists(POSITIVE, min_size=1, max_size=40))
def test_a_shape_is_within_its_bounds(values: list[float]) -> None:
    shape = shape_of(values)
    assert shape.low <= shape.middle <= shape.high
    assert shape.nodes == len(values)
    assert shape.sd >= 0.0


def test_a_few_odd_results_do_not_change_the_spread_of_the_bulk() -> None:
    sound = list(100 + np.random.default_rng(2).normal(size=100))
    assert robust_sd(sound) == pytest.approx(1.0, rel=0.2)
    assert robust_sd([*sound, *[10.0] * 10]) == pytest.approx(robust_sd(sound), rel=0.25)
    assert robust_sd([7.0]) == robust_sd([7.0, 7.0]) == 0.0


@given(st.lists(POSITIVE, min_size=1, max_size=60))
def test_each_result_is_in_one_bin_and_has_one_quantile(values: list[float]) -> None:
    edges, counts = histogram(values)
    assert sum(counts) == len(values)
    assert len(edges) == len(counts) + 1
    quantiles = normal_quantiles(values)
    assert [value for _, value in quantiles] == sorted(values)
