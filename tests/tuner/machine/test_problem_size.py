import pytest

from hpl.sizing import flop_count
from tuner.machine.problem_size import Sample, affordable_n, launch_s


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
