from dataclasses import replace

import pytest
from hpl_strategies import PARAMS
from hypothesis import given

from hpl.params import Bcast, HplParams, HplParamsError, Swap, parse_grid


@given(PARAMS)
def test_words_say_all_of_a_configuration(params: HplParams) -> None:
    assert HplParams.from_words(params.words()) == params


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("N", -1),
        ("NB", 0),
        ("P", 0),
        ("Q", -2),
        ("NBMIN", 0),
        ("NDIV", 1),
        ("DEPTH", -1),
        ("alignment", 0),
        ("N", 2**31),
    ],
)
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
