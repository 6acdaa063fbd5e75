"""How far single runs are trusted before anything ran twice: no farther than the machine has shown."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from record_builders import a_study, finished

from hpl.params import HplParams
from hpl.sizing import flop_count, fraction_done
from hpl.witness import Panel
from results.record import Kind, StudyNotes, TrialRecord
from results.stats.noise import noise_of
from results.stats.ranking import Ranked
from results.store.store import Store
from tuner.study.machine_changes import BUSY_NOISE, noise_of_pilots, note_noise
from tuner.study.objective import of_study
from tuner.trial.early_stopping import CERTAINTY, FEWEST, EarlyStopping

BEST, NEXT = 16.1, 8.93
"""GFLOPS of the best run and of the next one of the same configuration, on two cores that others used too."""


def pilots(*runs: tuple[int, float]) -> Sequence[TrialRecord]:
    """Pilot runs of one configuration, by N and GFLOPS."""
    return [
        finished(number, gflops, kind=Kind.PILOT, hpl=HplParams(N, 64, 1, 2))
        for number, (N, gflops) in enumerate(runs, start=1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "noise.db")
    opened.create_study(a_study(host={"cores": 2}))
    yield opened
    opened.close()


@pytest.mark.parametrize("shown", [BUSY_NOISE, noise_of_pilots(pilots((1500, 14.0), (3000, 10.0)))])
def test_the_next_run_of_the_best_stays_above_what_is_said_to_be_sure_on_a_busy_machine(shown: float) -> None:
    single = [np.log([BEST]), np.log([15.0]), np.log([14.2])]
    assert noise_of(single).one_more(BEST, 1, CERTAINTY) > NEXT, "what is usual of quiet machines is contradicted"
    assert noise_of(single, shown).one_more(BEST, 1, CERTAINTY) < NEXT


def test_a_larger_pilot_run_that_is_slower_shows_noise_and_a_faster_one_none() -> None:
    assert noise_of_pilots(pilots((1500, 14.0), (3000, 10.0))) == pytest.approx(math.log(1.4) / math.sqrt(2))
    assert noise_of_pilots(pilots((1500, 10.0), (3000, 14.0))) == 0.0
    assert noise_of_pilots(pilots((1500, 10.0), (1500, 14.0))) == pytest.approx(math.log(1.4) / math.sqrt(2))


def test_pilot_runs_of_other_programs_or_that_failed_show_no_noise() -> None:
    small, large = pilots((1500, 14.0), (3000, 10.0))
    assert noise_of_pilots([small, replace(large, blas="blis")]) == 0.0
    assert noise_of_pilots([small, replace(large, passed=False)]) == 0.0


def test_the_most_that_was_shown_is_kept_with_the_study(store: Store) -> None:
    assert store.study("study").notes.noise_at_first == 0.0
    assert [note_noise(store, "study", sd) for sd in (0.1, BUSY_NOISE, 0.0)] == [0.1, BUSY_NOISE, BUSY_NOISE]
    assert store.study("study").notes == StudyNotes(noise_at_first=BUSY_NOISE)


@pytest.mark.parametrize("shown", [0.005, 0.05, 0.3, 2.0])
def test_without_repeats_no_smaller_noise_is_believed_and_repeats_overrule_what_was_shown(shown: float) -> None:
    at_first = noise_of([], shown)
    if shown >= 0.05:
        assert at_first.sizes.min() >= min(shown, 1.0)
    chance = np.random.default_rng(3)
    steady = noise_of(list(chance.normal(0.0, 0.004, (12, 2))), shown)
    assert steady.usual < 0.02


def test_the_best_is_less_sure_where_a_busy_machine_had_few_repeats(store: Store) -> None:
    ranking = [Ranked("a", {"NB": 64}, (10.0, 9.9), 1), Ranked("b", {"NB": 96}, (9.3,), 2)]
    quiet = of_study(store.study("study")).standing(ranking)
    note_noise(store, "study", BUSY_NOISE)
    busy = of_study(store.study("study")).standing(ranking)
    assert quiet is not None
    assert busy is not None
    assert busy.confidence < quiet.confidence - 0.05


def test_a_run_is_stopped_later_or_not_at_all_where_what_is_left_of_it_may_differ_more() -> None:
    def stopped_at(early_stopping: EarlyStopping) -> float:
        N, gflops = 10_000, 60.0
        whole_s = flop_count(N) / gflops / 1e9
        run = [Panel(N, column, fraction_done(N, column) * whole_s) for column in range(0, N, 100)]
        for _ in range(FEWEST):
            early_stopping.learn(run, gflops)
        found = (early_stopping.hopeless(panel, before.column, 75.0) for before, panel in pairwise(run))
        return next((one.part for one in found if one is not None), 1.0)

    assert stopped_at(EarlyStopping(noise_at_first=BUSY_NOISE)) > stopped_at(EarlyStopping())


def test_a_change_during_the_search_is_kept_and_the_best_gets_no_percentage() -> None:
    entries = [Ranked(name, {}, (rate, rate * 1.001), 1) for name, rate in (("a", 100.0), ("b", 90.0))]
    steady, moved = (
        of_study(a_study(notes=StudyNotes(moved_during_search=by))).standing(entries) for by in (0.0, -0.2)
    )
    assert steady is not None
    assert not steady.unfit
    assert moved is not None
    assert "the machine slowed by 20 % meanwhile" in moved.unfit
