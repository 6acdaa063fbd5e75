"""Runs in full that cannot win any more are given up, with real HPL."""

from dataclasses import replace

import pytest
from made_loop import MakeLoop, launch, point
from record_builders import begun, finished

from hpl.witness import Panel
from results.record import Kind
from search_spaces.load import load
from tuner.engines.fidelity import FULL, Question
from tuner.engines.registry import make_engine
from tuner.study.launch_worker import LaunchWorker
from tuner.study.noise_at_first import BUSY_NOISE
from tuner.study.scheduler import Scheduler
from tuner.trial.early_stopping import FEWEST, EarlyStopping
from tuner.tuning.seeding import tell_earlier

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]


@pytest.fixture
def hard_to_beat(make_loop: MakeLoop) -> Scheduler:
    """A study after a run that no other is expected to beat."""
    loop = make_loop()
    assert loop.trial(point(N=7000, NB=128), Kind.SEARCH).ranked
    loop.prospects = EarlyStopping()
    for _ in range(FEWEST):
        loop.prospects.learn([Panel(1000, column, 1e-9 * (1 + column)) for column in range(0, 1000, 32)], 0.4)
    return loop


def test_a_single_lucky_run_is_no_bar(make_loop: MakeLoop) -> None:
    loop = make_loop()
    assert loop.incumbent_lower_bound("another") is None
    gflops = loop.trial(point(N=600, NB=96), Kind.SEARCH).gflops
    bar = loop.incumbent_lower_bound("another")
    assert gflops is not None
    assert bar is not None
    assert 0.7 * gflops < bar < 0.85 * gflops


@pytest.mark.parametrize(("apart", "least", "most"), [(0.003, 0.95, 0.98), (0.15, 0.25, 0.6)])
def test_how_much_small_runs_differ_says_how_far_the_best_may_owe_its_rate_to_luck(
    make_loop: MakeLoop, apart: float, least: float, most: float
) -> None:
    loop = make_loop()
    records = [("best", Kind.SEARCH, 100.0)]
    records += [(key, Kind.SMALL, 30 * factor) for key in ("a", "b") for factor in (1 - apart, 1 + apart)]
    for key, kind, gflops in records:
        loop.bench.store.finish(finished(loop.bench.store.begin(begun(key=key, kind=kind)), gflops, key=key, kind=kind))
    bar = loop.incumbent_lower_bound("another")
    assert bar is not None
    assert 100 * least < bar < 100 * most


def test_where_the_machine_has_shown_more_noise_the_best_is_trusted_less(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.bench.store.finish(finished(loop.bench.store.begin(begun(key="best")), 100.0, key="best"))
    before = loop.incumbent_lower_bound("another")
    loop.expect_noise(BUSY_NOISE)
    bar = loop.incumbent_lower_bound("another")
    assert before is not None
    assert bar is not None
    assert bar < 55 < before


def test_a_faster_run_does_not_lower_the_bar(make_loop: MakeLoop) -> None:
    loop = make_loop()
    for gflops in (99.9, 100.0, 100.1, 100.0):
        loop.bench.store.finish(finished(loop.bench.store.begin(begun(key="often")), gflops, key="often"))
    bar = loop.incumbent_lower_bound("another")
    loop.bench.store.finish(finished(loop.bench.store.begin(begun(key="once")), 100.2, key="once"))
    assert loop.incumbent_lower_bound("another") == pytest.approx(bar, rel=1e-3)


def test_a_run_that_was_given_up_is_not_repeated(hard_to_beat: Scheduler) -> None:
    rounds = LaunchWorker(hard_to_beat, hard_to_beat.evaluator).measure([Question(point(N=7000, NB=96))], repeats=3)
    assert [record.kind for (record,) in rounds] == [Kind.GIVEN_UP]
    assert hard_to_beat.meter.trials == 2, "it is one of the budget's trials"


def test_a_repeat_is_not_given_up_and_nothing_is_where_every_rate_is_wanted(hard_to_beat: Scheduler) -> None:
    loop = hard_to_beat
    text = 'parameters = { N = 7000, NB = 96, layout = "2x1", blas = "openblas" }'
    loop.space = load("one point", replace(loop.space.machine, N=7000), text=text)
    loop.meter.budget = replace(loop.meter.budget, trials=2)
    loop.search(make_engine("grid", loop.space, 0), repeats=1, reserved_runs=0)
    repeated = loop.trial(point(N=7000, NB=128), Kind.SEARCH)
    assert repeated.ranked
    assert [record.kind for record in loop.records()] == [Kind.SEARCH] * 3


def test_a_run_that_was_given_up_does_not_watch_the_machine_in_a_later_sitting(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.bench.store.finish(finished(loop.bench.store.begin(begun()), None, kind=Kind.GIVEN_UP, part=0.3, passed=None))
    tell_earlier(loop, make_engine("random", loop.space, 0), loop.records())
    assert loop.anchors.due() is None


def test_a_full_run_is_given_up_only_when_it_is_alone(hard_to_beat: Scheduler) -> None:
    loop = hard_to_beat
    assert loop.trial(point(N=7000, NB=96), Kind.SEARCH).kind is Kind.GIVEN_UP
    both = launch(loop, [point(N=2000, NB=NB) for NB in (96, 128)], Kind.SEARCH, FULL)
    assert [record.kind for record in both] == [Kind.SEARCH] * 2
    assert all(record.ranked for record in both)
