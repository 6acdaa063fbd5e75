"""The score of a game: 0 is random search, 1 the optimum at once."""

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay import Played, Step
from search_quality import random_regret_after, score

REGRETS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.data())
def test_random_search_is_the_mean_over_all_choices(regrets: list[float], data: st.DataObject) -> None:
    ordered = sorted(regrets)
    runs = data.draw(st.integers(1, len(ordered)))
    each = [min(chosen) for chosen in itertools.combinations(ordered, runs)]
    assert random_regret_after(runs, ordered) == pytest.approx(statistics.fmean(each), abs=1e-9)


def test_the_optimum_at_once_has_one() -> None:
    assert score(Played("hpl", "table", 0, [Step(1.0, 0.0)]), REGRETS) == 1


def test_what_random_search_has_on_average_has_zero() -> None:
    steps = [Step(float(runs), random_regret_after(runs, REGRETS)) for runs in range(1, len(REGRETS))]
    assert score(Played("random", "table", 0, steps), REGRETS) == pytest.approx(0)


def test_who_stays_at_a_bad_choice_is_below_zero() -> None:
    found = score(Played("hpl", "table", 0, [Step(1.0, 0.6)]), REGRETS)
    assert found is not None
    assert found < 0


def test_before_the_first_run_ends_nothing_is_lost() -> None:
    early, late = (score(Played("hpl", "table", 0, [Step(cost, 0.0)]), REGRETS) for cost in (1.0, 2.7))
    assert early is not None
    assert late is not None
    assert 0 < late < early


def test_equal_configurations_have_no_score() -> None:
    assert score(Played("hpl", "table", 0, [Step(1.0, 0.0)]), [0.0, 0.0, 0.0]) is None
