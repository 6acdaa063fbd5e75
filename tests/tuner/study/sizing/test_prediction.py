"""What is told of the whole memory and of what ran in turn, and how it is kept."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from record_builders import a_study

from results.record import StudyNotes
from results.stats.noise import noise_of
from results.store.store import Store
from tuner.study.sizing.extrapolation import Extrapolation
from tuner.study.sizing.prediction import (
    NotedPrediction,
    RivalInTurn,
    note_prediction,
    prediction_of,
    probability_faster,
)

FULL = Extrapolation(
    N=49_664, coefficients=(1e-11, 1e-9, 0.0), time_s=406.0, gflops=201.0, gflops_range=(185.0, 219.0), largest_n=12_160
)
SLOWER = RivalInTurn(9, "the textbook", 190.0, 0.21)
BEHIND = RivalInTurn(5, "blas=blis", 184.0, 0.04)


def faster(rival_gflops: float, larger: float = 2.0, noise: float = 0.003) -> float:
    """The probability for a rival of one that gave 100 GFLOPS."""
    return probability_faster(rival_gflops / 100, larger, 0.1, noise_of([noise * np.array([-1.0, 0.0, 1.0])] * 3))


def test_one_that_was_slower_in_turn_is_probably_slower_at_a_larger_n_but_less_surely_the_larger_that_is() -> None:
    assert faster(90.0) < 0.05
    assert faster(90.0) < faster(90.0, larger=8.0) < 0.5
    assert faster(100.0) == pytest.approx(0.5)


def test_runs_that_differ_more_tell_less_of_who_is_faster() -> None:
    assert faster(97.0) < faster(97.0, noise=0.05) < 0.5


def test_what_ran_in_turn_is_one_sentence() -> None:
    noted = NotedPrediction(FULL, 3, "NB=256", 12_160, 201.0, (SLOWER, BEHIND), "Of 1 of 6 runs it is not known.", 0.1)
    assert noted.in_turn == (
        "In turn at N=12160 (the first 10% of the columns), NB=256 gave 201 GFLOPS, 5.8% more than the textbook (190); "
        "blas=blis gave 184. HPL-full.dat has the values of NB=256. Of 1 of 6 runs it is not known."
    )
    told = noted.to_json()["in_turn"]
    assert (told["N"], told["called"], told["sentence"]) == (12_160, "NB=256", noted.in_turn)
    assert [(one["trial"], one["gflops"], one["faster"]) for one in told["rivals"]] == [
        (9, 190.0, 0.21), (5, 184.0, 0.04)
    ]  # fmt: skip
    assert NotedPrediction(FULL, 3).to_json()["in_turn"] is None


def test_what_gave_no_result_in_turn_is_told_and_no_probability_of_what_is_doubtful() -> None:
    failed = RivalInTurn(9, "the best of the search", 0.0, None)
    noted = NotedPrediction(FULL, 3, "NB=256", 12_160, 201.0, (failed, RivalInTurn(5, "the textbook", 190.0, None)))
    assert noted.in_turn == (
        "In turn at N=12160, NB=256 gave 201 GFLOPS, 5.8% more than the textbook (190); the best of the search gave no "
        "result. HPL-full.dat has the values of NB=256."
    )


def test_a_rate_of_disturbed_runs_alone_is_the_least_and_no_gain_is_told_against_it() -> None:
    sides = replace(SLOWER, faster=None, quiet=False), replace(BEHIND, faster=None)
    doubt = "2 of 4 runs were disturbed."
    assert NotedPrediction(FULL, 3, "NB=256", 12_160, 201.0, sides, doubt).in_turn == (
        "In turn at N=12160, NB=256 gave 201 GFLOPS; the textbook gave at least 190; blas=blis gave 184. "
        f"HPL-full.dat has the values of NB=256. {doubt}"
    )
    assert NotedPrediction(FULL, 3, "NB=256", 12_160, 201.0, (SLOWER,), quiet=False).against_textbook == (
        "In turn at N=12160, NB=256 gave at least 201 GFLOPS; the textbook gave 190"
    )


def test_where_the_textbook_is_the_fastest_in_turn_no_gain_is_told() -> None:
    noted = NotedPrediction(
        FULL, 3, "the textbook", 12_160, 201.0, (RivalInTurn(9, "the best of the search", 199.0, 0.4),)
    )
    assert noted.in_turn == (
        "In turn at N=12160, the textbook gave 201 GFLOPS; the best of the search gave 199. "
        "HPL-full.dat has the values of the textbook. "
        "At N=49664 each of the others is faster with a probability of at most 40%."
    )


@pytest.mark.parametrize("rivals", [(), (SLOWER, BEHIND)])
def test_a_prediction_is_read_back_as_it_was_noted(home: Path, rivals: tuple[RivalInTurn, ...]) -> None:
    noted = NotedPrediction(FULL, 3, "NB=256", 12_160 if rivals else None, 201.0, rivals)
    with Store.open(home / "one.db") as store:
        store.create_study(a_study())
        note_prediction(store, "study", noted)
        assert prediction_of(store.study("study")) == noted


def test_a_prediction_of_an_older_hpltune_in_which_nothing_ran_in_turn_is_left_out() -> None:
    old = {**asdict(FULL), "coefficients": [1e-11, 1e-9, 0.0], "gflops_range": [185.0, 219.0], "trial": 3}
    assert prediction_of(a_study(notes=StudyNotes(whole_memory=old))) is None
    assert prediction_of(a_study()) is None
