"""What is told of the whole memory and of what ran in turn, and how it is kept."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from record_builders import a_study

from hpl.sizing import flop_count
from results.stats.noise import noise_of
from results.store.store import Store
from tuner.machine.problem_size import Sample
from tuner.tuning.extrapolation import Extrapolation
from tuner.tuning.prediction import NotedPrediction, Rival, note_prediction, prediction_of, probability_faster

FULL = Extrapolation(
    N=49_664, coefficients=(1e-11, 1e-9, 0.0), time_s=406.0, gflops=201.0, gflops_range=(185.0, 219.0), largest_n=12_160
)
SLOWER = Rival(9, "the textbook", 190.0, 0.21)
UNTOLD = Rival(5, "blas=blis", 184.0, None)
SIZES = (3008, 6080, 12_160)


def runs(*gflops: float) -> list[Sample]:
    return [Sample(N, flop_count(N) / rate / 1e9, 0.0) for N, rate in zip(SIZES, gflops, strict=True)]


def faster(rival: list[Sample], winner: list[Sample], N: int = 24_320, noise: float = 0.003) -> float:
    steady = noise_of([noise * np.array([-1.0, 0.0, 1.0])] * 3)
    return probability_faster(rival, winner, (N, N), steady, 400.0)


def test_one_whose_rate_grows_faster_is_probably_faster_at_a_larger_n_though_it_is_slower_now() -> None:
    growing, flat = runs(110.0, 156.0, 187.0), runs(150.0, 176.0, 190.0)
    assert faster(growing, flat) > 0.7
    assert faster(flat, growing) < 0.3


def test_of_two_that_grow_alike_the_one_that_is_faster_now_stays_so() -> None:
    winner, behind = runs(150.0, 176.0, 190.0), runs(146.0, 171.0, 184.0)
    assert faster(behind, winner) < 0.35


def test_runs_that_differ_more_tell_less_of_who_is_faster() -> None:
    growing, flat = runs(110.0, 156.0, 187.0), runs(150.0, 176.0, 190.0)
    assert 0.5 < faster(growing, flat, noise=0.05) < faster(growing, flat)


def test_what_ran_in_turn_is_one_sentence() -> None:
    noted = NotedPrediction(FULL, 3, "NB=256", 12_160, 201.0, (SLOWER, UNTOLD))
    assert noted.in_turn == (
        "In turn at N=12160, NB=256 gave 201 GFLOPS, the textbook 190 and blas=blis 184; HPL.dat for the whole memory "
        "has the values of the first."
    )
    told = noted.to_json()["in_turn"]
    assert (told["N"], told["called"], told["sentence"]) == (12_160, "NB=256", noted.in_turn)
    assert [(one["trial"], one["gflops"], one["faster"]) for one in told["rivals"]] == [
        (9, 190.0, 0.21), (5, 184.0, None)
    ]  # fmt: skip
    assert NotedPrediction(FULL, 3).to_json()["in_turn"] is None


@pytest.mark.parametrize("rivals", [(), (SLOWER, UNTOLD)])
def test_a_prediction_is_read_back_as_it_was_noted(home: Path, rivals: tuple[Rival, ...]) -> None:
    noted = NotedPrediction(FULL, 3, "NB=256", 12_160 if rivals else None, 201.0, rivals)
    with Store.open(home / "one.db") as store:
        store.create_study(a_study())
        note_prediction(store, "study", noted)
        assert prediction_of(store.study("study")) == noted


def test_a_prediction_of_an_older_hpltune_in_which_nothing_ran_in_turn_is_left_out() -> None:
    old = {**asdict(FULL), "coefficients": [1e-11, 1e-9, 0.0], "gflops_range": [185.0, 219.0], "trial": 3}
    assert prediction_of(a_study(host={"whole_memory": old})) is None
    assert prediction_of(a_study(host={})) is None
