from dataclasses import replace

import pytest
from hpl_strategies import PARAMS
from hypothesis import given

from hpl.canonical import canonical
from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Swap

WIDE = HplParams(10_000, 128, 2, 4)


@given(PARAMS)
def test_a_representative_represents_itself_and_keeps_the_problem(params: HplParams) -> None:
    once = canonical(params)
    assert canonical(once) == once
    assert (once.N, once.NB, once.P, once.Q) == (params.N, params.NB, params.P, params.Q)
    assert (once.threshold, once.L1, once.alignment) == (params.threshold, params.L1, params.alignment)


def same(one: HplParams, **changed: object) -> bool:
    return canonical(one) == canonical(replace(one, **changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed", [{"SWAP": Swap.BINARY_EXCHANGE}, {"swap_threshold": 7}, {"EQUIL": False}, {"U": Form.NOT_TRANSPOSED}]
)
def test_one_process_row_swaps_nothing(changed: dict[str, object]) -> None:
    assert same(replace(WIDE, P=1), **changed)
    assert not same(WIDE, **changed)


@pytest.mark.parametrize("changed", [{"DEPTH": 0}, {"BCAST": Bcast.LONG}])
def test_one_process_column_broadcasts_nothing(changed: dict[str, object]) -> None:
    assert same(replace(WIDE, Q=1), **changed)
    assert not same(WIDE, **changed)


def test_short_rings_are_alike() -> None:
    two, three = replace(WIDE, Q=2), replace(WIDE, Q=3)
    assert same(two, BCAST=Bcast.ONE_RING)
    assert same(two, BCAST=Bcast.TWO_RING_M)
    assert not same(two, BCAST=Bcast.LONG)
    assert same(three, BCAST=Bcast.TWO_RING)
    assert not same(three, BCAST=Bcast.ONE_RING)
    assert not same(WIDE, BCAST=Bcast.TWO_RING_M)


def test_a_recursion_that_is_never_entered_has_no_variants() -> None:
    never = replace(WIDE, NBMIN=128)
    assert same(never, RFACT=Fact.LEFT)
    assert same(never, NDIV=5)
    assert same(never, NBMIN=500)
    assert not same(WIDE, RFACT=Fact.LEFT)


def test_more_divisions_than_pieces_change_nothing() -> None:
    assert same(replace(WIDE, NBMIN=32, NDIV=4), NDIV=9)
    assert not same(replace(WIDE, NBMIN=32, NDIV=4), NDIV=3)


def test_only_mix_looks_at_the_swapping_threshold() -> None:
    assert same(replace(WIDE, SWAP=Swap.LONG), swap_threshold=1)
    assert not same(replace(WIDE, SWAP=Swap.MIX), swap_threshold=1)
    assert canonical(replace(WIDE, SWAP=Swap.MIX, swap_threshold=0)) == canonical(replace(WIDE, SWAP=Swap.LONG))
    assert same(replace(WIDE, SWAP=Swap.BINARY_EXCHANGE), EQUIL=False)


def test_the_mapping_of_ranks_matters_only_on_a_real_grid() -> None:
    assert same(replace(WIDE, P=1), PMAP=Pmap.COLUMN)
    assert not same(WIDE, PMAP=Pmap.COLUMN)
