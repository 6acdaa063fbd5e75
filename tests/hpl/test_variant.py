from dataclasses import replace

import pytest
from hpl_strategies import PARAMS
from hypothesis import given

from hpl.params import Bcast, Fact, HplParams, Pmap
from hpl.variant import VariantError, contradicts, decode, encode


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
