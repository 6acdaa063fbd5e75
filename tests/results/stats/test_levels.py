"""Whether the machine changed between search and confirmation, in simulated studies whose truth is known."""

from collections.abc import Sequence
from functools import cache
from statistics import fmean

import numpy as np
import pytest

from results.stats.confidence import rerank_by_posterior, standing
from results.stats.levels import change, drift_corrected
from results.stats.ranking import Ranked, Time

STUDIES = 60


def entry(key: str, *gflops: float, first: int = 0) -> Ranked:
    """A configuration that ran once in the search and then in each round."""
    return Ranked(key, {}, gflops, 1, times=tuple(Time(0, turn) for turn in range(first, first + len(gflops))))


BUSY = [entry("a", 33.72, 10.96, 11.41), entry("b", 32.91, 4.14, 5.77), entry("c", 31.04, 4.97, 5.77)]
"""Another program took the machine when the best were confirmed."""


def test_what_is_told_of_the_best_is_as_the_machine_was_when_it_was_confirmed() -> None:
    first, *_ = rerank_by_posterior([*BUSY, entry("once", 25.63)])
    assert first.key == "a"
    assert 10 < first.expected_gflops < 12
    assert change(BUSY) == pytest.approx(-0.8, abs=0.1)


def test_what_ran_once_in_the_fast_time_does_not_win_for_that() -> None:
    confirmed = [entry("a", 48.09, 36.48), entry("b", 50.30, 34.48), entry("c", 47.65, 34.83)]
    once = [entry("d", 45.61), entry("e", 42.89), entry("f", 40.34)]
    ranking = rerank_by_posterior([*once, *confirmed])
    assert ranking[0].key in {"a", "b", "c"}
    assert all(one.expected_gflops < 37 for one in ranking)


def test_a_machine_that_became_faster_is_no_merit_of_what_was_confirmed() -> None:
    confirmed = [entry("a", 50.0, 59.9, 60.2), entry("b", 49.0, 58.9, 58.8)]
    assert change(confirmed) == pytest.approx(0.2, abs=0.02)
    assert drift_corrected([*confirmed, entry("once", 48.0)])[-1].gflops == pytest.approx((57.6,), rel=0.02)


def test_most_runs_of_a_configuration_say_what_is_expected_of_it() -> None:
    belief = {
        one.key: one.expected_gflops
        for one in rerank_by_posterior([entry("a", 40.0, 12.0, 12.1), entry("b", 20.0, 20.1)])
    }
    assert belief["a"] == pytest.approx(12.05, rel=0.02)
    forgiven = {
        one.key: one.expected_gflops
        for one in rerank_by_posterior([entry("a", 40.0, 40.1, 12.0), entry("b", 20.0, 20.1)])
    }
    assert forgiven["a"] == pytest.approx(40.05, rel=0.02)


def test_times_that_are_not_known_change_nothing() -> None:
    entries = [Ranked("a", {}, (40.0, 30.0), 1), Ranked("b", {}, (38.0, 29.0), 1)]
    assert drift_corrected(entries) == entries
    assert change(entries) == 0.0


@cache
def simulated(sd: float, drift: float, *, hiccups: float = 0.0) -> Sequence[tuple[float, bool, bool, float, float]]:
    """What studies told of their winner: how sure, whether right, whether confirmed, its figure's error, the change.

    Eight configurations that differ by 5 % run once, and the best three twice more.
    """
    chance, found = np.random.default_rng(5), []
    for _ in range(STUDIES):
        true = -np.abs(chance.normal(0.0, 0.05, 8))
        true -= true.max()

        def run(place: int, turn: int, true: np.ndarray = true) -> float:
            slowed = chance.exponential(0.2) if chance.random() < hiccups else 0.0
            return float(100 * np.exp(true[place] + chance.normal(0.0, sd) + (drift if turn else 0.0) - slowed))

        runs = [[run(place, 0)] for place in range(len(true))]
        best = sorted(range(len(true)), key=lambda place: -runs[place][0])[:3]
        for turn in (1, 2):
            for place in best:
                runs[place].append(run(place, turn))
        ranking = rerank_by_posterior([entry(str(place), *rates) for place, rates in enumerate(runs)])
        sure, winner = standing(ranking), int(ranking[0].key)
        assert sure is not None
        figure = ranking[0].expected_gflops / (100 * np.exp(true[winner] + drift)) - 1
        found.append((sure.confidence, true[winner] == 0.0, winner in best, figure, change(ranking)))
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("drift", [0.0, -0.3])
@pytest.mark.parametrize(("sd", "hiccups"), [(0.01, 0.0), (0.01, 0.05), (0.07, 0.0)])
def test_figure_and_confidence_are_honest_whether_or_not_the_machine_changes(
    sd: float, hiccups: float, drift: float
) -> None:
    confidence, right, confirmed, figure, changed = zip(*simulated(sd, drift, hiccups=hiccups), strict=True)
    assert fmean(confidence) - fmean(right) < (0.3 if sd > 0.05 else 0.1)
    assert fmean(figure) == pytest.approx(0.0, abs=0.01 + sd / 2)
    assert fmean(changed) == pytest.approx(np.expm1(drift), abs=0.01 + sd / 2)
    assert fmean(confirmed) > 0.9


@pytest.mark.heavy
@pytest.mark.parametrize(("sd", "most"), [(0.01, 0.05), (0.07, 0.25)])
def test_a_machine_that_did_not_change_is_seldom_said_to_though_finalists_owe_their_place_to_luck(
    sd: float, most: float
) -> None:
    assert fmean(abs(one[-1]) > 0 for one in simulated(sd, 0.0)) < most


@pytest.mark.heavy
def test_where_runs_differ_by_much_few_are_called_sure() -> None:
    assert fmean(one[0] > 0.9 for one in simulated(0.07, 0.0)) < 0.12
