"""How sure it is that the first of a ranking is the fastest."""

import pytest
from present import present

from results.stats.confidence import Standing, sentence, standing
from results.stats.ranking import Ranked, Time, relative_sd


def entry(key: str, *gflops: float) -> Ranked:
    return Ranked(key, {"NB": 192}, gflops, 1)


def test_a_clear_winner_is_sure() -> None:
    found = present(standing([entry("a", 100.0, 100.4, 99.8), entry("b", 90.0, 90.3, 89.9), entry("c", 60.0)]))
    assert found.confidence > 0.99
    assert found.equals == (1,)
    assert sentence(found) == "No. 1 is the fastest with more than 99 % confidence."


def test_what_ran_once_may_have_been_slowed_so_that_no_more_than_89_percent_are_claimed() -> None:
    found = present(standing([entry("a", 100.0, 100.4, 99.8), entry("b", 90.0, 90.3, 89.9), entry("c", 80.0)]))
    assert found.equals == (1,)
    assert sentence(found).startswith("No. 1 is the fastest with 89 % confidence at most: 1 of 3 ran once and may have")
    steady = [100.0, 100.4, 99.8] * 12
    many = present(standing([entry("a", *steady), entry("b", 90.0, 90.3, 89.9), entry("c", 80.0)]))
    assert many.confidence > 0.95, "so many repeats would have shown that runs are slowed"


def test_two_that_differ_by_less_than_the_noise_cannot_be_told_apart() -> None:
    found = present(
        standing([entry("a", 100.0, 99.0, 101.0), entry("b", 99.8, 100.7, 99.0), entry("c", 60.0, 60.6, 59.4)])
    )
    assert 0.4 < found.confidence < 0.8
    assert found.equals == (1, 2)
    assert sentence(found).startswith("Nos. 1 and 2 are a tie; the chance that no. 1 is the fastest is ")


def test_many_that_cannot_be_told_apart_are_counted_and_only_the_first_ones_are_called_so() -> None:
    assert sentence(Standing(0.2, (1, 2, 3, 4, 5))).startswith("The top 5 are a tie; ")
    assert sentence(Standing(0.2, (1, 2, 4, 5, 6))).startswith("No. 1 and 4 others are a tie; ")
    assert sentence(Standing(0.2, (1, 4, 5))).startswith("Nos. 1, 4 and 5 are a tie; ")


def test_more_runs_of_the_same_kind_make_it_surer() -> None:
    few = standing([entry("a", 101.0, 99.0), entry("b", 99.0, 97.0)])
    many = standing([entry("a", *[101.0, 99.0] * 10), entry("b", *[99.0, 97.0] * 10)])
    assert few is not None
    assert many is not None
    assert many.confidence > few.confidence


def test_one_run_each_tells_nothing_of_the_noise() -> None:
    assert standing([entry("a", 100.0), entry("b", 90.0)]) is None
    assert "⟦confirm⟧ 2" in sentence(None)


@pytest.mark.parametrize("gflops", [(100.0, 101.0), (100.0,)])
def test_of_the_only_configuration_it_cannot_be_told_how_sure_it_is_the_fastest(gflops: tuple[float, ...]) -> None:
    assert standing([entry("a", *gflops)]) is None


def test_runs_that_are_all_alike_are_no_division_by_zero() -> None:
    assert present(standing([entry("a", 100.0, 100.0), entry("b", 90.0, 90.0)])).confidence == pytest.approx(1.0)


def test_runs_that_differ_by_more_than_five_percent_are_too_noisy_to_rank() -> None:
    found = standing([entry("a", 100.0, 80.0, 120.0), entry("b", 70.0, 60.0, 85.0), entry("c", 40.0)])
    assert sentence(found).startswith(
        "How sure it is that no. 1 is the fastest cannot be told: runs of one configuration"
    )
    assert "which is too noisy to rank" in sentence(found)
    assert "confidence" not in sentence(found)


@pytest.mark.parametrize("shown", [0.0, 0.2])
def test_enough_steady_repeats_overrule_what_was_assumed_of_a_busy_machine(shown: float) -> None:
    found = present(
        standing([entry("a", 100.0, 100.3, 99.9), entry("b", 90.0, 90.2, 89.8), entry("c", 85.0, 85.2)], shown)
    )
    assert not found.unfit
    assert found.confidence > 0.95


def test_the_noise_that_is_told_is_the_one_that_was_measured() -> None:
    for entries in ([entry("a", 100.0, 99.7), entry("b", 90.0)], [entry("a", 100.0, 140.0), entry("b", 90.0, 50.0)]):
        words = sentence(standing(entries, 0.2))
        measured = present(relative_sd(entries))
        assert f" differ by {100 * measured:.1f} % (standard deviation)" in words
        assert words.count("differ by") == 1


def test_few_repeats_of_a_machine_that_was_busy_at_first_are_said_to_be_too_few() -> None:
    words = sentence(standing([entry("a", 100.0, 99.7), entry("b", 90.0)], 0.2))
    assert "at the start other programs ran or runs differed much, and too few runs were repeated, which differ by" in (
        words
    )
    assert "0.2 % (standard deviation), to rule out a noise of 5 %" in words
    assert not present(standing([entry("a", 100.0, 99.7), entry("b", 90.0)])).unfit


def test_a_machine_with_two_speeds_gets_no_percentage() -> None:
    slow = 100.0 / 1.08
    found = standing(
        [entry("a", 101.0, slow, 100.9), entry("b", 97.1, 97.0, 97.05 / 1.08), entry("c", 95.0, 94.9, 95.1)]
    )
    assert "the machine has two speeds, about 8 % apart" in sentence(found)


def test_one_disturbed_run_is_no_second_speed() -> None:
    found = present(
        standing([entry("a", 101.0, 94.0, 100.9), entry("b", 97.1, 97.0, 97.05), entry("c", 95.0, 94.9, 95.1)])
    )
    assert not found.unfit


@pytest.mark.parametrize(("rates", "moved"), [((90.0, 90.1), 0.0), ((100.0, 100.1), -0.08)])
def test_a_machine_that_changed_before_or_during_the_search_gets_no_percentage(
    rates: tuple[float, float], moved: float
) -> None:
    times = (Time(0, 0), Time(0, 1), Time(0, 2))
    first, second = (100.0, *rates), tuple(0.95 * rate for rate in (100.0, *rates))
    entries = [Ranked("a", {}, first, 1, times=times), Ranked("b", {}, second, 2, times=times)]
    found = standing(entries, moved=moved)
    assert "the machine slowed by" in sentence(found)
    assert "so runs at different times cannot be compared" in sentence(found)
