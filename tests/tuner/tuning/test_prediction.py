"""What is told of rivals at the whole memory, and how it is kept."""

from dataclasses import asdict, replace
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
FASTER = Rival(12, "NB=256", replace(FULL, gflops=209.0, gflops_range=(190.0, 228.0)), 0.64)
SLOWER = Rival(9, "NB=128, grid=2x1", replace(FULL, gflops=190.0, gflops_range=(175.0, 205.0)), 0.21)
UNTOLD = Rival(5, "blas=blis", replace(FULL, gflops=230.0, can_tell=False), None)
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


def test_it_is_told_whether_a_rival_may_be_faster_should_stay_slower_or_cannot_be_told() -> None:
    noted = NotedPrediction(FULL, 3, (SLOWER, FASTER, UNTOLD))
    assert noted.overtaker == FASTER
    assert noted.sentence(SLOWER) == (
        "At N=49664 NB=128, grid=2x1 (trial 9) should stay slower than the best: 190 GFLOPS (175 to 205) against "
        "201 GFLOPS (185 to 219); the probability that it is faster is 21%"
    )
    assert noted.sentence(FASTER) == (
        "At N=49664 NB=256 (trial 12) may be faster than the best: 209 GFLOPS (190 to 228) against 201 GFLOPS "
        "(185 to 219); the probability of that is 64%"
    )
    assert noted.sentence(UNTOLD) == "These runs cannot tell whether blas=blis (trial 5) is faster at N=49664"
    told = noted.to_json()["rivals"]
    assert [(one["trial"], one["gflops"], one["faster"]) for one in told] == [
        (9, 190.0, 0.21), (12, 209.0, 0.64), (5, None, None)
    ]  # fmt: skip


def test_where_no_rival_is_expected_to_be_faster_none_overtakes() -> None:
    assert NotedPrediction(FULL, 3, (SLOWER, UNTOLD)).overtaker is None


@pytest.mark.parametrize("rivals", [(), (FASTER, UNTOLD)])
def test_a_prediction_is_read_back_as_it_was_noted(home: Path, rivals: tuple[Rival, ...]) -> None:
    noted = NotedPrediction(FULL, 3, rivals)
    with Store.open(home / "one.db") as store:
        store.create_study(a_study())
        note_prediction(store, "study", noted)
        assert prediction_of(store.study("study")) == noted


def test_a_prediction_of_an_older_hpltune_which_knew_no_rivals_is_read() -> None:
    old = {**asdict(FULL), "coefficients": [1e-11, 1e-9, 0.0], "gflops_range": [185.0, 219.0], "trial": 3}
    assert prediction_of(a_study(host={"whole_memory": old})) == NotedPrediction(FULL, 3)
    assert prediction_of(a_study(host={})) is None
