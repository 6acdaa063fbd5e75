"""The parameters of a run, and the code by which HPL prints seven of them."""

from dataclasses import replace

import pytest
from hpl_strategies import PARAMS
from hypothesis import given

from hpl.params import Bcast, Fact, HplParams, HplParamsError, Pmap, Swap, parse_grid
from hpl.variant import VariantError, contradicts, decode, encode


@given(PARAMS)
def test_words_say_all_of_a_configuration(params: HplParams) -> None:
    assert HplParams.from_words(params.words()) == params


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("N", -1), ("NB", 0), ("P", 0), ("Q", -2), ("NBMIN", 0), ("NDIV", 1), ("DEPTH", -1), ("alignment", 0),
        ("N", 2**31),
    ],
)  # fmt: skip
def test_a_value_out_of_hpls_range_is_named(name: str, value: int) -> None:
    with pytest.raises(HplParamsError, match=name):
        replace(HplParams(100, 10, 1, 1), **{name: value})  # type: ignore[arg-type]


def test_an_enumeration_is_refused_as_a_bare_number() -> None:
    with pytest.raises(HplParamsError, match="BCAST"):
        HplParams(100, 10, 1, 1, BCAST=3)  # type: ignore[arg-type]


def test_a_threshold_must_be_a_number() -> None:
    with pytest.raises(HplParamsError, match="threshold"):
        HplParams(100, 10, 1, 1, threshold=float("nan"))


def test_words_and_digits_are_those_of_hpl() -> None:
    assert [member.word for member in Bcast] == ["1rg", "1rM", "2rg", "2rM", "Lng", "LnM", "bc6", "bc7"]
    assert [int(member) for member in Bcast] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert Swap.from_word("mix") is Swap.from_digit(2)


def test_an_unknown_word_lists_the_known_ones() -> None:
    with pytest.raises(HplParamsError, match="1rg, 1rM"):
        Bcast.from_word("3rg")


@pytest.mark.parametrize("text", ["", "2", "2x", "x2", "2*4", "-1x4", "2x4x8"])
def test_a_grid_is_written_p_x_q(text: str) -> None:
    with pytest.raises(HplParamsError, match="grid"):
        parse_grid(text)


def test_ranks_are_the_cells_of_the_grid() -> None:
    assert HplParams(100, 10, 3, 5).ranks == 15


@given(PARAMS)
def test_a_code_says_its_seven_parameters(params: HplParams) -> None:
    variant = decode(encode(params))
    for name in ("PMAP", "DEPTH", "BCAST", "RFACT", "NDIV", "PFACT", "NBMIN"):
        assert getattr(variant, name) == getattr(params, name)


def test_the_codes_of_known_outputs_are_read() -> None:
    assert encode(HplParams(100, 10, 1, 2)) == "WR11C2R4"
    variant = decode("WC05L3C16")
    assert (variant.PMAP, variant.DEPTH, variant.BCAST) == (Pmap.COLUMN, 0, Bcast.LONG_M)
    assert (variant.RFACT, variant.NDIV, variant.PFACT, variant.NBMIN) == (Fact.LEFT, 3, Fact.CROUT, 16)


def test_a_depth_of_two_digits_is_not_mixed_up_with_the_broadcast() -> None:
    params = replace(HplParams(100, 10, 1, 2), DEPTH=10, BCAST=Bcast.LONG)
    assert (decode(encode(params)).DEPTH, decode(encode(params)).BCAST) == (10, Bcast.LONG)


@pytest.mark.parametrize("code", ["", "WR11C2", "XR11C2R4", "WR11C2R4x", "WR1AC2R4", "WC0"])
def test_what_is_no_code_is_refused(code: str) -> None:
    with pytest.raises(VariantError, match="WR11C2R4"):
        decode(code)


def test_a_vendors_broadcast_is_read() -> None:
    assert decode("WR16C2R4").BCAST is Bcast.VENDOR_6
    with pytest.raises(VariantError, match="broadcast 8 is unknown"):
        decode("WR18C2R4")


def test_a_code_contradicts_a_run_only_where_it_tells_another_variant() -> None:
    params = HplParams(100, 10, 1, 2)
    assert not contradicts("WR11C2R4", params)
    assert contradicts("WR11C2R8", params)
    assert not contradicts("WC0", params)
