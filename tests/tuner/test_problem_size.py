import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpl.flops import flop_count
from tuner.problem_size import Sample, affordable_n, extrapolate, launch_s


def sample(N: int, gflops: float = 100.0, rest_s: float = 0.5) -> Sample:
    time_s = flop_count(N) / gflops / 1e9
    return Sample(N, time_s, time_s + rest_s)


def test_the_whole_launch_of_the_chosen_n_takes_no_longer_than_it_may() -> None:
    samples = [sample(3000)]
    N = affordable_n(samples, 10.0, 50_000)
    assert N % 64 == 0
    assert launch_s(samples, N) <= 10.0 < launch_s(samples, N + 128)


def test_n_never_grows_beyond_what_the_memory_holds() -> None:
    assert affordable_n([sample(3000)], 1e6, 8000) <= 8000


@pytest.mark.parametrize(("largest_n", "N"), [(8000, 8000), (8010, 8000), (576, 576), (100, 512)])
def test_a_budget_without_end_takes_all_that_fits_the_memory(largest_n: int, N: int) -> None:
    assert affordable_n([sample(3000)], 1e6, largest_n) == N


def test_a_budget_too_small_for_anything_still_gives_the_smallest_n() -> None:
    assert affordable_n([sample(3000)], 0.0001, 8000) == 512


def test_a_launch_that_is_slow_to_start_still_computes_half_of_its_time() -> None:
    slow = [sample(3000, rest_s=2.0)]
    N = affordable_n(slow, 1.0, 50_000)
    assert flop_count(N) / 100e9 > 0.4


@given(a=st.floats(1e-12, 1e-10), b=st.floats(0, 1e-7), c=st.floats(0, 1e-4))
def test_a_run_time_of_three_terms_is_extrapolated_exactly(a: float, b: float, c: float) -> None:
    sizes = (1000, 2000, 4000)
    samples = [Sample(N, a * N**3 + b * N**2 + c * N, 0.0) for N in sizes]
    expected_s = a * 16_000**3 + b * 16_000**2 + c * 16_000
    assert extrapolate(samples, 16_000).time_s == pytest.approx(expected_s, rel=1e-4)


def test_terms_are_never_negative_however_noisy_the_runs_are() -> None:
    noisy = [Sample(1000, 0.01, 0), Sample(2000, 0.3, 0), Sample(4000, 1.0, 0)]
    assert min(extrapolate(noisy, 16_000).coefficients) >= 0


def test_a_prediction_from_far_smaller_runs_is_called_rough() -> None:
    assert extrapolate([sample(4000)], 40_000).rough
    assert not extrapolate([sample(4000)], 8_000).rough


def test_nothing_can_be_extrapolated_from_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        extrapolate([], 1000)
