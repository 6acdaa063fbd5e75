from dataclasses import fields, replace

import pytest
from hpl_strategies import PARAMS
from hypothesis import given
from hypothesis import strategies as st

from hpl.canonical import MERGED, canonical, inert
from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Swap

WIDE = HplParams(10_000, 128, 2, 4)
EDGES = st.builds(
    replace,
    PARAMS,
    NB=st.integers(2, 40),
    NBMIN=st.integers(1, 40),
    P=st.integers(1, 4),
    Q=st.integers(1, 4),
    swap_threshold=st.integers(0, 2),
)
"""Small figures, where most rules hold; NB = 1 is left out, because every NBMIN is then the whole panel."""
DISTINCT: dict[str, tuple[object, ...]] = {
    "PMAP": tuple(Pmap), "threshold": (1.0, 2.0), "PFACT": tuple(Fact), "NBMIN": (1, 4096), "NDIV": (2, 3),
    "RFACT": tuple(Fact), "BCAST": tuple(Bcast), "DEPTH": (0, 1), "SWAP": tuple(Swap), "swap_threshold": (0, 1),
    "L1": tuple(Form), "U": tuple(Form), "EQUIL": (False, True), "alignment": (1, 2),
}  # fmt: skip
"""Values of each parameter that HPL can tell apart wherever it looks at the parameter."""


@given(PARAMS)
def test_a_representative_represents_itself_and_keeps_the_problem(params: HplParams) -> None:
    once = canonical(params)
    assert canonical(once) == once
    assert (once.N, once.NB, once.P, once.Q) == (params.N, params.NB, params.P, params.Q)
    assert (once.threshold, once.L1, once.alignment) == (params.threshold, params.L1, params.alignment)


@given(EDGES)
def test_what_may_be_alike_is_named_and_all_else_stays_as_it_is(params: HplParams) -> None:
    changed = {
        field.name
        for field in fields(HplParams)
        if getattr(canonical(params), field.name) != getattr(params, field.name)
    }
    assert changed <= MERGED


@given(EDGES, EDGES)
def test_no_value_of_an_inert_parameter_makes_another_representative(params: HplParams, other: HplParams) -> None:
    for name in inert(params):
        assert same(params, **{name: getattr(other, name)}), name


@given(EDGES)
def test_a_parameter_that_no_value_of_makes_another_representative_is_inert(params: HplParams) -> None:
    assert {*DISTINCT} == {field.name for field in fields(HplParams)} - {"N", "NB", "P", "Q"}
    for name, values in DISTINCT.items():
        assert (name in inert(params)) == all(same(params, **{name: value}) for value in values), name


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


def test_rings_of_two_columns_are_alike_but_for_the_long_ones() -> None:
    two = replace(WIDE, Q=2)
    assert same(two, BCAST=Bcast.ONE_RING)
    assert same(two, BCAST=Bcast.TWO_RING_M)
    assert not same(two, BCAST=Bcast.LONG)


@pytest.mark.parametrize("Q", [3, 4])
def test_of_three_or_four_columns_all_rings_but_the_plain_one_send_the_same(Q: int) -> None:
    few = replace(WIDE, Q=Q)
    assert same(few, BCAST=Bcast.TWO_RING)
    assert same(few, BCAST=Bcast.TWO_RING_M)
    assert not same(few, BCAST=Bcast.ONE_RING)


@pytest.mark.parametrize("other", [Bcast.TWO_RING, Bcast.TWO_RING_M])
def test_of_five_columns_on_each_ring_sends_differently(other: Bcast) -> None:
    assert not same(replace(WIDE, Q=5), BCAST=other)


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
