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
    ("of", "alike", "apart"),
    [
        ({"P": 1}, [{"SWAP": Swap.BINARY_EXCHANGE}, {"swap_threshold": 7}, {"EQUIL": False}], []),
        ({"P": 1}, [{"U": Form.NOT_TRANSPOSED}, {"PMAP": Pmap.COLUMN}], []),
        ({}, [], [{"SWAP": Swap.BINARY_EXCHANGE}, {"swap_threshold": 7}, {"EQUIL": False}]),
        ({}, [], [{"U": Form.NOT_TRANSPOSED}, {"PMAP": Pmap.COLUMN}]),
        ({"Q": 1}, [{"DEPTH": 0}, {"BCAST": Bcast.LONG}], []),
        ({}, [], [{"DEPTH": 0}, {"BCAST": Bcast.LONG}, {"RFACT": Fact.LEFT}]),
        ({"Q": 2}, [{"BCAST": Bcast.ONE_RING}, {"BCAST": Bcast.TWO_RING_M}], [{"BCAST": Bcast.LONG}]),
        ({"Q": 3}, [{"BCAST": Bcast.TWO_RING}, {"BCAST": Bcast.TWO_RING_M}], [{"BCAST": Bcast.ONE_RING}]),
        ({"Q": 4}, [{"BCAST": Bcast.TWO_RING}, {"BCAST": Bcast.TWO_RING_M}], [{"BCAST": Bcast.ONE_RING}]),
        ({"Q": 5}, [], [{"BCAST": Bcast.TWO_RING}, {"BCAST": Bcast.TWO_RING_M}]),
        ({"NBMIN": 128}, [{"RFACT": Fact.LEFT}, {"NDIV": 5}, {"NBMIN": 500}], []),
        ({"NBMIN": 32, "NDIV": 4}, [{"NDIV": 9}], [{"NDIV": 3}]),
        ({"SWAP": Swap.LONG}, [{"swap_threshold": 1}], []),
        ({"SWAP": Swap.MIX}, [], [{"swap_threshold": 1}]),
        ({"SWAP": Swap.MIX, "swap_threshold": 0}, [{"SWAP": Swap.LONG, "swap_threshold": WIDE.swap_threshold}], []),
        ({"SWAP": Swap.BINARY_EXCHANGE}, [{"EQUIL": False}], []),
    ],
    ids=[
        *("one row swaps nothing", "one row has no grid", "rows swap", "a real grid", "one column", "columns"),
        *("two columns", "three", "four", "five", "no recursion", "more divisions than pieces", "only mix has a"),
        *("threshold", "a threshold of 0 is long", "binary exchange"),
    ],
)
def test_what_hpl_runs_alike_is_merged_and_nothing_else(
    of: dict[str, object], alike: list[dict[str, object]], apart: list[dict[str, object]]
) -> None:
    params = replace(WIDE, **of)  # type: ignore[arg-type]
    for changed in (*alike, *apart):
        assert same(params, **changed) == (changed in alike), changed
