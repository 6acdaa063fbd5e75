"""Figures of merit, checked against those published for the Kronos cluster (Eadline and Layton, Table 2)."""

import math
from dataclasses import replace

import pytest
from record_builders import finished

from hpl.params import HplParams
from results.metrics import (
    Merit,
    four_digits,
    merit,
    mflops_per_watt,
    percent_of_peak,
    prefix_gflops,
    rate_text,
    updated_part,
    usd_per_gflops,
)  # fmt: skip

KRONOS_GFLOPS = 14.53


def test_kronos_reached_52_percent_of_its_peak() -> None:
    assert round(percent_of_peak(KRONOS_GFLOPS, rpeak_gflops=28.10)) == 52


@pytest.mark.parametrize(("price_usd", "published"), [(2490, 171), (2063, 142)])
def test_kronos_cost_171_and_later_142_usd_per_gflops(price_usd: float, published: int) -> None:
    assert round(usd_per_gflops(price_usd, KRONOS_GFLOPS)) == published


def test_kronos_gave_16_14_mflops_per_watt() -> None:
    assert mflops_per_watt(KRONOS_GFLOPS, power_w=900) == pytest.approx(16.14, abs=0.005)


@pytest.mark.parametrize(("gflops", "text"), [(14.53, "14.53"), (0.1, "0.10"), (0.0084, "0.0084"), (0.0123, "0.012")])
def test_a_rate_below_a_tenth_is_written_with_two_digits_that_say_something(gflops: float, text: str) -> None:
    assert rate_text(gflops) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(263659.47, "263,700"), (999.96, "1,000"), (1234.0, "1,234"), (171.68, "171.7"), (37.08, "37.08"), (9.5, "9.5")],
)
def test_a_figure_has_at_most_four_digits_that_say_something(value: float, text: str) -> None:
    assert four_digits(value) == text


@pytest.mark.parametrize("nonsense", [0.0, -1.0, math.nan, math.inf])
def test_nonsense_is_an_error_that_shows_it(nonsense: float) -> None:
    with pytest.raises(ValueError, match=f"rpeak_gflops = {nonsense}: expected a finite value above zero"):
        percent_of_peak(1.0, nonsense)
    with pytest.raises(ValueError, match=f"gflops = {nonsense}"):
        usd_per_gflops(1.0, nonsense)
    with pytest.raises(ValueError, match=f"power_w = {nonsense}"):
        mflops_per_watt(1.0, nonsense)


def test_what_is_not_known_of_a_machine_gives_no_figure() -> None:
    assert merit(KRONOS_GFLOPS) == Merit(None, None, None)
    known = merit(KRONOS_GFLOPS, rpeak_gflops=28.10, power_w=900)
    assert known == Merit(percent_of_peak(14.53, 28.10), None, mflops_per_watt(14.53, 900))


def test_of_a_run_that_was_stopped_the_panels_of_the_look_ahead_are_not_done() -> None:
    """Of 1,152 columns begun with NB=384 and a look-ahead of one panel, 768 have updated the matrix."""
    stopped = finished(1, None, hpl=HplParams(9344, 384, 1, 2, DEPTH=1), part=1152 / 9344, time_s=1.117)
    assert updated_part(stopped) == pytest.approx(768 / 9344)
    assert prefix_gflops(stopped) == pytest.approx(110, abs=2)
    without = replace(stopped, hpl=HplParams(9344, 384, 1, 2, DEPTH=0))
    assert prefix_gflops(without) == pytest.approx(159, abs=2)
    assert updated_part(replace(stopped, part=1.0)) == 1.0
