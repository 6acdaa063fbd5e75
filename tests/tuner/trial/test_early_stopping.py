"""Ending a run that cannot win any more."""

import math
import random
from itertools import pairwise

import pytest

from hpl.params import HplParams
from hpl.sizing import flop_count, fraction_done
from hpl.witness import Panel
from tuner.trial.early_stopping import FEWEST, EarlyStopping, updated

N, NB = 10_000, 100


def panels(gflops: float, bias: float = 1.0, N: int = N) -> list[Panel]:
    """The panels of a run whose beginning is `bias` times as fast as its whole."""
    whole_s = flop_count(N) / gflops / 1e9
    return [Panel(N, column, fraction_done(N, column) * whole_s / bias) for column in range(0, N, NB)]


def taught(bias: float, spread: float, count: int, seed: int = 0) -> EarlyStopping:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    early_stopping = EarlyStopping()
    for _ in range(count):
        early_stopping.learn(panels(80.0, bias * (1 + chance.gauss(0, spread))), 80.0)
    return early_stopping


def first_stop(early_stopping: EarlyStopping, run: list[Panel], best: float) -> float | None:
    for before, panel in pairwise(run):
        found = early_stopping.hopeless(panel, before.column, best)
        if found is not None:
            return found.part
    return None


def slowing(gflops: float, slower: float) -> list[Panel]:
    """The panels of a run whose rate falls all the time, until its whole is so much slower than its first panel."""
    whole_s = flop_count(N) / gflops / 1e9
    return [
        Panel(N, column, done * whole_s * math.exp(-slower * (1 - done)))
        for column in range(0, N, NB)
        for done in [fraction_done(N, column)]
    ]


def test_a_slow_run_is_ended_early_and_a_fast_one_never() -> None:
    early_stopping = taught(bias=1.03, spread=0.003, count=8)
    assert first_stop(early_stopping, panels(70.0, 1.03), best=100.0) == 0.05
    assert first_stop(early_stopping, panels(100.5, 1.03), best=100.0) is None


def test_nothing_is_ended_before_enough_runs_went_to_their_end() -> None:
    assert first_stop(taught(1.03, 0.003, FEWEST - 1), panels(10.0, 1.03), best=100.0) is None
    assert first_stop(taught(1.03, 0.003, FEWEST), panels(10.0, 1.03), best=100.0) is not None


def test_where_beginnings_say_little_a_run_must_be_far_behind() -> None:
    sure, unsure = taught(1.03, 0.002, 8), taught(1.03, 0.1, 8)
    run = panels(93.0, 1.03)
    assert first_stop(sure, run, best=100.0) is not None
    assert first_stop(unsure, run, best=100.0) is None


@pytest.mark.heavy
def test_a_run_that_would_win_is_ended_in_at_most_one_of_a_hundred() -> None:
    chance = random.Random(1)  # noqa: S311 - not for secrets
    ended = 0
    for seed in range(400):
        early_stopping = taught(1.03, 0.02, 10, seed)
        ended += first_stop(early_stopping, panels(100.0, 1.03 * (1 + chance.gauss(0, 0.02))), best=99.99) is not None
    assert ended <= 4


def test_a_run_is_looked_at_where_those_before_it_were() -> None:
    early_stopping = EarlyStopping()
    for _ in range(20):
        early_stopping.learn(slowing(80.0, 0.5), 80.0)
    assert first_stop(early_stopping, slowing(100.0, 0.5), best=99.9) is None
    assert first_stop(early_stopping, slowing(80.0, 0.5), best=99.9) is not None


@pytest.mark.heavy
def test_that_holds_where_runs_of_different_kinds_slow_down_differently() -> None:
    chance = random.Random(2)  # noqa: S311 - not for secrets
    ended = 0
    for _ in range(1000):
        early_stopping = EarlyStopping()
        for _ in range(FEWEST):
            early_stopping.learn(slowing(80.0, chance.gauss(0.25, 0.05)), 80.0)
        ended += first_stop(early_stopping, slowing(100.0, chance.gauss(0.25, 0.05)), best=99.99) is not None
    assert ended <= 10


def test_a_run_is_not_ended_where_that_takes_longer_than_the_run() -> None:
    early_stopping = taught(bias=1.03, spread=0.003, count=8)
    short, long = panels(30.0, 1.03, N=2_000), panels(30.0, 1.03, N=5_000)
    assert first_stop(early_stopping, short, best=100.0) is None
    assert first_stop(early_stopping, long, best=100.0) is not None
    assert early_stopping.hopeless(long[-10], before=0, best_gflops=100.0) is None


@pytest.mark.parametrize("panel", [Panel(N, 0, 0.0), Panel(N, 5000, 0.0)])
def test_a_panel_without_time_says_nothing(panel: Panel) -> None:
    assert taught(1.03, 0.003, 8).hopeless(panel, -1, 100.0) is None


def ahead(gflops: float, hpl: HplParams) -> list[Panel]:
    """The panels that a run with a look-ahead has begun: the matrix is updated by DEPTH of them less."""
    whole_s, late = flop_count(hpl.N) / gflops / 1e9, hpl.DEPTH * hpl.NB
    begun = range(late + hpl.NB, hpl.N, hpl.NB)
    return [Panel(hpl.N, column, fraction_done(hpl.N, column - late) * whole_s) for column in begun]


def test_a_run_without_a_look_ahead_is_not_held_against_the_beginnings_of_those_with_one() -> None:
    early_stopping = EarlyStopping()
    with_one, without = HplParams(N, NB, 1, 2, DEPTH=1), HplParams(N, NB, 1, 2, DEPTH=0)
    for gflops in (79.0, 80.0, 81.0, 80.5, 79.5):
        early_stopping.learn(updated(ahead(gflops, with_one), with_one), gflops)
    run = updated(ahead(82.0, without), without)
    assert first_stop(early_stopping, run, 81.0) is None
    blind = EarlyStopping()
    for gflops in (79.0, 80.0, 81.0, 80.5, 79.5):
        blind.learn(ahead(gflops, with_one), gflops)
    assert first_stop(blind, run, 81.0) is not None, "which looks slower than they do"
