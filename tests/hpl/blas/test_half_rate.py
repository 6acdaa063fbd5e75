"""What narrow blocks cost dgemm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpl.blas.half_rate import NARROWEST, half_rate_block

WIDTHS = st.sets(st.integers(16, 512), min_size=2, max_size=8)


@given(WIDTHS, st.floats(2.0, 300.0), st.floats(1.0, 1e4))
def test_the_block_with_half_the_rate_is_found(widths: set[int], half: float, gflops: float) -> None:
    rates = {width: gflops * width / (width + half) for width in widths}
    assert half_rate_block(rates) == pytest.approx(min(half, max(widths)), rel=1e-3)


@pytest.mark.parametrize("rates", [{32: 50.0, 384: 50.0}, {32: 60.0, 128: 70.0, 384: 48.0}])
def test_where_narrow_blocks_cost_nothing_it_is_the_narrowest(rates: dict[int, float]) -> None:
    assert half_rate_block(rates) == NARROWEST


def test_a_single_width_tells_nothing() -> None:
    assert half_rate_block({192: 90.0}) is None


def test_it_is_no_wider_than_what_was_timed() -> None:
    assert half_rate_block({32: 1.0, 64: 4.0, 128: 30.0}) == 128
