"""The run at the whole memory, told from smaller ones whose truth is known."""

import json
import math
import re

import numpy as np
import pytest
from as_user import Run
from hypothesis import given
from hypothesis import strategies as st

from hpl.sizing import flop_count
from results.stats.noise import Array, noise_of
from tuner.machine.problem_size import Sample
from tuner.study.sizing.extrapolation import COVERAGE, Extrapolation, extrapolate

QUIET = noise_of([])


def told(sizes: tuple[int, ...], N: int, sd: float, chance: np.random.Generator) -> tuple[Extrapolation, float]:
    """What is told of a machine whose runs differ, after three finalists ran three times, and what a run at N gives."""

    def run(size: int) -> Sample:
        noiseless_s = 7e-12 * size**3 + 8e-9 * size**2 + 1e-6 * size
        return Sample(size, noiseless_s * float(np.exp(sd * chance.standard_normal())), 0.0)

    repeats: list[Array] = list(sd * chance.standard_normal((3, 3)))
    return extrapolate([run(size) for size in sizes], N, noise_of(repeats)), flop_count(N) / run(N).time_s / 1e9


def sample(N: int, gflops: float = 100.0) -> Sample:
    return Sample(N, flop_count(N) / gflops / 1e9, 0.0)


@pytest.mark.heavy
@given(a=st.floats(1e-12, 1e-10), b=st.floats(0, 1e-7), c=st.floats(0, 1e-4))
def test_a_run_time_of_three_terms_is_extrapolated_exactly(a: float, b: float, c: float) -> None:
    sizes = (1000, 2000, 4000)
    samples = [Sample(N, a * N**3 + b * N**2 + c * N, 0.0) for N in sizes]
    expected_s = a * 16_000**3 + b * 16_000**2 + c * 16_000
    assert extrapolate(samples, 16_000, QUIET).time_s == pytest.approx(expected_s, rel=1e-4)


def test_terms_are_never_negative_however_noisy_the_runs_are() -> None:
    noisy = [Sample(1000, 0.01, 0), Sample(2000, 0.3, 0), Sample(4000, 1.0, 0)]
    assert min(extrapolate(noisy, 16_000, QUIET).coefficients) >= 0


@pytest.mark.heavy
@pytest.mark.parametrize("sd", [0.003, 0.01, 0.05, 0.15])
def test_nine_runs_of_ten_at_the_larger_n_lie_within_what_is_told(sd: float) -> None:
    chance = np.random.default_rng(1)
    inside = []
    for _ in range(60):
        found, gflops = told((1000, 2000, 4000), 12_000, sd, chance)
        inside.append(found.gflops_range[0] <= gflops <= found.gflops_range[1])
    assert np.mean(inside) > COVERAGE - 0.08


def test_what_is_told_is_closer_where_runs_differ_less_or_are_nearer() -> None:
    def width(sizes: tuple[int, ...], sd: float) -> float:
        low, high = told(sizes, 12_000, sd, np.random.default_rng(2))[0].gflops_range
        return high / low

    assert width((1000, 2000, 4000), 0.003) < width((1000, 2000, 4000), 0.05)
    assert width((2500, 5000, 10_000), 0.003) < width((500, 1000, 2000), 0.003)


def test_one_size_tells_less_than_three() -> None:
    def width(samples: list[Sample]) -> float:
        low, high = extrapolate(samples, 16_000, QUIET).gflops_range
        return high / low

    assert width([sample(4000)]) > width([sample(1000), sample(2000), sample(4000)])


def test_small_runs_that_are_equally_fast_do_not_promise_the_same_rate_far_beyond_them() -> None:
    flat, steady = [sample(500, 50.0), sample(1000, 50.0), sample(2000, 50.0)], noise_of([np.log([50.0, 50.1, 49.9])])

    def low(N: int) -> float:
        return extrapolate(flat, N, steady).gflops_range[0]

    assert low(2200) > 48.0
    assert low(2200) > low(4000) > low(8000) > low(16_000)


def test_the_faster_the_rate_still_grew_the_less_surely_it_goes_on_so() -> None:
    steady = noise_of([np.log([50.0, 50.1, 49.9])])

    def width(*gflops: float) -> float:
        runs = [sample(N, rate) for N, rate in zip((1000, 2000, 4000), gflops, strict=True)]
        low, high = extrapolate(runs, 16_000, steady).gflops_range
        return math.log(high / low)

    assert width(50.0, 50.0, 50.0) < width(40.0, 46.0, 50.0) < width(25.0, 37.0, 50.0)


def test_what_small_runs_tell_ends_where_nothing_was_tested() -> None:
    flat = [sample(500, 50.0), sample(1000, 50.0), sample(2000, 50.0)]
    assert extrapolate(flat, 16_000, QUIET).can_tell
    far = extrapolate(flat, 47_104, QUIET, ceiling_gflops=134.0)
    assert not far.can_tell
    assert far.sentence == (
        "these runs, up to N=2000, cannot tell its rate: N is 23.6 times as large, and runs tell the rate of an N "
        "that is at most 8 times their own"
    )
    told = far.to_json()
    assert (told["gflops"], told["time_s"], told["gflops_range"], told["can_tell"]) == (None, None, None, False)


BENT = [sample(1000, 20.0), sample(2000, 50.0), sample(4000, 95.0)]
"""Runs whose three terms alone lead beyond 100 GFLOPS."""


def test_no_more_than_the_peak_is_promised() -> None:
    assert extrapolate(BENT, 32_000, QUIET).gflops > 100.0
    found = extrapolate(BENT, 32_000, QUIET, ceiling_gflops=100.0)
    assert found.can_tell
    assert found.gflops_range[0] < found.gflops < found.gflops_range[1] == 100.0
    assert found.time_s > flop_count(32_000) / 100e9


def test_no_more_than_dgemm_gives_is_expected_though_a_run_may_give_more() -> None:
    steady = noise_of([np.log([50.0, 51.0, 49.0])] * 3)
    found = extrapolate(BENT, 32_000, steady, ceiling_gflops=150.0, dgemm_gflops=100.0)
    assert found.gflops < 100.0 < found.gflops_range[1] <= 150.0
    faster = [sample(1000, 90.0), sample(2000, 100.0), sample(4000, 105.0)]
    assert 105.0 < extrapolate(faster, 8000, QUIET, dgemm_gflops=100.0).gflops <= 1.05 * 105.0
    as_dgemm = [sample(10_000, 50.0), sample(20_000, 80.0)]
    assert 80.0 < extrapolate(as_dgemm, 60_000, QUIET, dgemm_gflops=79.0).gflops < 84.0


@given(part=st.floats(0.05, 1.0), gflops=st.floats(60.0, 99.0))
def test_runs_at_one_rate_below_dgemm_are_expected_to_keep_it(part: float, gflops: float) -> None:
    runs = [sample(N, gflops).first(part) for N in (4000, 8000, 16_000)]
    assert extrapolate(runs, 32_000, QUIET, dgemm_gflops=100.0).gflops == pytest.approx(gflops, rel=0.02)


def test_a_peak_that_a_run_surpassed_bounds_nothing() -> None:
    measured = [sample(3008, 123.0), sample(6080, 161.2), sample(12_160, 186.4)]
    found = extrapolate(measured, 49_664, QUIET, ceiling_gflops=166.2)
    assert found == extrapolate(measured, 49_664, QUIET)
    assert found.gflops_range[0] < 206.7 < found.gflops_range[1]


def test_nor_does_one_that_a_single_run_surpassed_though_more_is_not_expected() -> None:
    measured = [sample(3008, 123.0), sample(6080, 161.2), sample(12_160, 186.4)]
    found = extrapolate(measured, 49_664, QUIET, ceiling_gflops=188.0, fastest_gflops=190.1)
    assert found == extrapolate(measured, 49_664, QUIET)
    assert extrapolate(measured, 49_664, QUIET, ceiling_gflops=188.0).gflops < 188.0


def test_nothing_can_be_extrapolated_from_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        extrapolate([], 1000, QUIET)


@pytest.mark.usefixtures("prints_hpl")
def test_a_study_tells_between_which_rates_a_run_of_the_whole_memory_will_be(hpltune: Run) -> None:
    one = ("--xhpl", "xhpl", "--space", "quick", "--set", "N=1000", "--set", "NB=64", "--set", "DEPTH=0")
    small = (*one, "--memory-fraction", "0.01")
    done = hpltune.well("tune", *small, "--trials", "1", "--json", "--study", "ranged")
    full = json.loads(done.stdout)["full"]
    assert full["N"] > full["largest_n"] == 1000
    low, high = full["gflops_range"] or (full["N"] / 8 - 1000, math.inf)
    assert 0 < low <= high, "a range, unless N is more than eight times as large"
    assert (full["gflops"] is not None) == full["can_tell"]
    assert full["gflops"] is None or low <= full["gflops"] <= high
    assert full["coverage"] == COVERAGE
    said = hpltune("tune", *small, "--trials", "1", "--study", "said").stdout
    foretold = r" GFLOPS \(90% of runs: [\d.]+ to [\d.]+\), predicted from runs up to N=1000\."
    assert re.search(foretold, said) or "these runs, up to N=1000, cannot tell its rate" in said
