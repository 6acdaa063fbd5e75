import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpl.params import HplParams
from hpl.sizing import NodeShare, SizingError, cautions, memory_bytes, n_for_memory, numroc, process_grids

GIB = 2**30


@given(st.integers(0, 5000), st.integers(1, 300), st.integers(1, 20))
def test_every_column_is_on_exactly_one_coordinate(n: int, nb: int, count: int) -> None:
    assert sum(numroc(n, nb, coordinate, count) for coordinate in range(count)) == n


@given(st.integers(1, 64), st.floats(0.1, 1.0), st.integers(8, 512), st.sampled_from([(1, 1), (1, 2), (2, 4), (3, 5)]))
def test_the_matrix_takes_no_more_than_its_fraction(gib: int, fraction: float, NB: int, grid: tuple[int, int]) -> None:
    P, Q = grid
    N = n_for_memory([NodeShare(gib * GIB, P * Q)], fraction=fraction, NB=NB, P=P, Q=Q)
    assert N % NB == 0
    assert gib * GIB * fraction >= 8 * N * N
    assert gib * GIB * fraction < 8 * (1.02 * N + NB) ** 2


def test_the_node_with_the_least_memory_for_each_rank_decides() -> None:
    even = n_for_memory([NodeShare(4 * GIB, 1)] * 8, fraction=0.8, NB=64)
    uneven = n_for_memory([NodeShare(8 * GIB, 1), *[NodeShare(4 * GIB, 1)] * 7], fraction=0.8, NB=64)
    assert uneven == even
    weighted = n_for_memory([NodeShare(8 * GIB, 2), *[NodeShare(4 * GIB, 1)] * 6], fraction=0.8, NB=64)
    assert weighted == even
    assert n_for_memory([NodeShare(4 * GIB, 2), *[NodeShare(4 * GIB, 1)] * 6], fraction=0.8, NB=64) < even


def test_n_is_a_multiple_of_whole_rows_of_blocks_where_that_is_cheap() -> None:
    assert n_for_memory([NodeShare(64 * GIB, 6)], fraction=0.8, NB=128, P=2, Q=3) % (128 * 6) == 0
    small = n_for_memory([NodeShare(GIB // 8, 35)], fraction=0.8, NB=256, P=5, Q=7)
    assert small % 256 == 0
    assert small > 0


def test_memory_too_small_for_one_block_is_said() -> None:
    with pytest.raises(SizingError, match="NB = 512"):
        n_for_memory([NodeShare(2**20, 1)], fraction=0.5, NB=512)


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5])
def test_a_fraction_lies_between_0_and_1(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction"):
        n_for_memory([NodeShare(GIB, 1)], fraction=fraction, NB=64)


def test_a_rank_needs_its_matrix_and_its_panels() -> None:
    one = memory_bytes(HplParams(10_000, 100, 1, 1, DEPTH=0))
    assert 8 * 10_000**2 < one < 1.01 * 8 * 10_000**2
    quarter = memory_bytes(HplParams(10_000, 100, 2, 2, DEPTH=0))
    assert one / 4 < quarter < one / 3
    assert memory_bytes(HplParams(10_000, 100, 2, 2, DEPTH=2)) > quarter


@given(st.integers(1, 2000))
def test_all_grids_of_a_rank_count_come_squarest_first(ranks: int) -> None:
    grids = process_grids(ranks)
    assert {P * Q for P, Q in grids} == {ranks}
    assert len(set(grids)) == len(grids) == sum(ranks % P == 0 for P in range(1, ranks + 1))
    flat = [grid for grid in grids if grid[0] <= grid[1]]
    assert list(grids[: len(flat)]) == flat == sorted(flat, key=lambda grid: grid[1])


def test_there_is_no_grid_of_no_ranks() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        process_grids(0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (HplParams(2**16, 128, 1, 1), "power of two"),
        (HplParams(5000, 128, 1, 1, threshold=0.0), "not check"),
        (HplParams(5000, 128, 4, 2), "more rows than columns"),
        (HplParams(100, 128, 1, 1), "larger than N"),
    ],
)
def test_a_legal_configuration_nobody_wants_is_cautioned(params: HplParams, words: str) -> None:
    assert any(words in sentence for sentence in cautions(params))


def test_an_ordinary_configuration_has_no_caution() -> None:
    assert cautions(HplParams(2**15, 128, 2, 4)) == ()
