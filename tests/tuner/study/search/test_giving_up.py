"""Runs in full that cannot win any more are given up."""

from dataclasses import replace

import pytest
from made_study import MadeStudy, MakeStudy, point
from record_builders import begun, finished

from hpl.witness import Panel
from results.record import Kind
from search_spaces.load import load
from tuner.engines.outcomes import FULL
from tuner.engines.registry import make_engine
from tuner.study.machine_changes import BUSY_NOISE
from tuner.study.sized_study import tell_earlier
from tuner.trial.early_stopping import FEWEST, EarlyStopping

pytestmark = pytest.mark.usefixtures("mpirun")
RUNS = (
    {"when": {"N": 4500, "NB": 96}, "gflops": 25.0},
    {"when": {"N": 7000, "NB": 96}, "gflops": 25.0, "pace": 1.0},
    {"when": {"N": 4500, "NB": 128}},
)
"""NB = 96 is hopeless, and slow enough that this is seen before it ends."""


@pytest.fixture
def hard_to_beat(make_study: MakeStudy) -> MadeStudy:
    """A study after a run that no other is expected to beat."""
    study = make_study(runs=RUNS, walltime_s=280.0)
    assert study.trial(point(N=4500, NB=128), Kind.SEARCH).ranked
    early_stopping = EarlyStopping()
    for _ in range(FEWEST):
        early_stopping.learn([Panel(1000, column, 1e-9 * (1 + column)) for column in range(0, 1000, 32)], 0.4)
    return study.stopping_early(early_stopping)


def test_a_single_lucky_run_is_no_bar(make_study: MakeStudy) -> None:
    study = make_study()
    assert study.lower_bound("another") is None
    gflops = study.trial(point(N=600, NB=96), Kind.SEARCH).gflops
    bar = study.lower_bound("another")
    assert gflops is not None
    assert bar is not None
    assert 0.7 * gflops < bar < 0.85 * gflops


@pytest.mark.parametrize(("apart", "least", "most"), [(0.003, 0.95, 0.98), (0.15, 0.25, 0.6)])
def test_how_much_small_runs_differ_says_how_far_the_best_may_owe_its_rate_to_luck(
    make_study: MakeStudy, apart: float, least: float, most: float
) -> None:
    study = make_study()
    records = [("best", Kind.SEARCH, 100.0)]
    records += [(key, Kind.SMALL, 30 * factor) for key in ("a", "b") for factor in (1 - apart, 1 + apart)]
    for key, kind, gflops in records:
        study.keep(key, kind, gflops)
    bar = study.lower_bound("another")
    assert bar is not None
    assert 100 * least < bar < 100 * most


def test_where_the_machine_has_shown_more_noise_the_best_is_trusted_less(make_study: MakeStudy) -> None:
    study = make_study()
    study.keep("best", Kind.SEARCH, 100.0)
    before = study.lower_bound("another")
    session = study.session
    noisy = replace(session, objective=replace(session.objective, noise_at_first=BUSY_NOISE))
    bar = study.ledger.incumbent.lower_bound(noisy, "another")
    assert before is not None
    assert bar is not None
    assert bar < 55 < before


def test_a_faster_run_does_not_lower_the_bar(make_study: MakeStudy) -> None:
    study = make_study()
    for gflops in (99.9, 100.0, 100.1, 100.0):
        study.keep("often", Kind.SEARCH, gflops)
    bar = study.lower_bound("another")
    study.keep("once", Kind.SEARCH, 100.2)
    assert study.lower_bound("another") == pytest.approx(bar, rel=1e-3)


def test_what_one_run_alone_reaches_is_no_bar_until_it_was_repeated(make_study: MakeStudy) -> None:
    study = make_study()
    for gflops in (99.9, 100.0, 100.1, 100.0):
        study.keep("often", Kind.SEARCH, gflops)
    bar = study.lower_bound("another")
    study.keep("lucky", Kind.SEARCH, 130.0)
    assert study.lower_bound("another") == pytest.approx(bar, rel=1e-3)
    for gflops in (129.5, 130.2):
        study.keep("lucky", Kind.CONFIRMATION, gflops)
    repeated = study.lower_bound("another")
    assert repeated is not None
    assert repeated > 120


def hear_of_earlier_sessions(later: MadeStudy) -> None:
    """Tell a later session of a study what its earlier ones found."""
    engine = make_engine("random", later.space, 0)
    tell_earlier(later.session, engine, later.ledger.incumbent, later.records(), EarlyStopping())


def test_a_later_session_knows_what_the_best_of_earlier_ones_reaches(make_study: MakeStudy) -> None:
    study = make_study()
    for kind, gflops in ((Kind.SEARCH, 100.0), (Kind.CONFIRMATION, 101.0), (Kind.SMALL, 30.0), (Kind.SMALL, 33.0)):
        study.keep("best", kind, gflops)
    later = study.later(lambda _: None)
    assert later.lower_bound("another") is None
    hear_of_earlier_sessions(later)
    assert later.lower_bound("another") == study.lower_bound("another") is not None


def test_the_best_of_a_later_session_is_that_of_the_first_also_where_a_confirmation_gave_it(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    params = point()
    assert study.space.why_not(params) is None
    for kind, gflops in ((Kind.SEARCH, 14.98), (Kind.CONFIRMATION, 15.88), (Kind.CONFIRMATION, 9.12)):
        number = study.ledger.begin(begun(key="best", kind=kind, params=params))
        assert number is not None
        study.ledger.commit(finished(number, gflops, key="best", kind=kind, params=params))
    later = study.later(lambda _: None)
    hear_of_earlier_sessions(later)
    assert later.ledger.incumbent.told == study.ledger.incumbent.told == "15.88 GFLOPS"


def test_a_run_that_was_given_up_is_not_repeated(hard_to_beat: MadeStudy) -> None:
    text = 'parameters = { N = 4500, NB = 96, layout = "2x1", grid = "1x2", blas = "openblas" }'
    study = hard_to_beat.on(load("one point", hard_to_beat.space.machine, text=text))
    study.search(make_engine("random", study.space, 0), repeats=3)
    assert [record.kind for record in study.records()] == [Kind.SEARCH, Kind.GIVEN_UP]
    assert hard_to_beat.meter.trials == 2, "it is one of the budget's trials"


def test_a_repeat_is_not_given_up_and_nothing_is_where_every_rate_is_wanted(hard_to_beat: MadeStudy) -> None:
    text = 'parameters = { N = 7000, NB = 96, layout = "2x1", blas = "openblas" }'
    study = hard_to_beat.on(load("one point", replace(hard_to_beat.space.machine, N=4500), text=text))
    study.meter.budget = replace(study.meter.budget, trials=2)
    study.search(make_engine("grid", study.space, 0))
    repeated = study.trial(point(N=4500, NB=128), Kind.SEARCH)
    assert repeated.ranked
    assert [record.kind for record in study.records()] == [Kind.SEARCH] * 3


def test_a_full_run_is_given_up_only_when_it_is_alone(hard_to_beat: MadeStudy) -> None:
    study = hard_to_beat
    assert study.trial(point(N=4500, NB=96), Kind.SEARCH).kind is Kind.GIVEN_UP
    both = study.launch([point(N=2000, NB=NB) for NB in (96, 128)], Kind.SEARCH, FULL)
    assert [record.kind for record in both] == [Kind.SEARCH] * 2
    assert all(record.ranked for record in both)
