"""What runs at smaller N tell of the winner and of others at the whole memory."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from as_user import Run
from made_study import MadeStudy, MakeStudy, point, studies
from record_builders import DISTURBED, QUIET, begun, finished
from replayed import replaying

from hpl.params import HplParams
from results.record import Kind
from results.report.model import Sentence
from results.store.store import Store
from search_spaces.load import load
from tuner.budget import Budget
from tuner.commands.stored.report import figure_source, page_of
from tuner.engines.registry import make_engine
from tuner.events import Event, TrialEnded
from tuner.options import TuneOptions
from tuner.reports.figures.size import size
from tuner.stopping import StopRequest
from tuner.study.search.loop import replay_records
from tuner.study.sizing.prediction import NotedPrediction, prediction_of
from tuner.study.sizing.whole_memory import predict_full

RATES = {64: {512: 17.0, 1024: 19.0, 2048: 20.0}, 128: {512: 13.0, 1024: 17.0, 2048: 19.6}}
"""NB=64 is faster up to N=2048, and the rate of NB=128 grows faster."""
TABLE = [{"when": {"NB": NB, "N": N}, "gflops": gflops} for NB, rates in RATES.items() for N, gflops in rates.items()]
FULL_N = 6000
KEPT_SPACE = 'parameters = { NB = [64, 96, 128, 192, 256], grid = ["1x2", "2x1"], layout = "2x1" }'


def fraction() -> float:
    """The part of this machine's memory that a matrix of FULL_N takes."""
    return 8 * FULL_N**2 / psutil.virtual_memory().available


@pytest.fixture
def make(home: Path) -> Iterator[MakeStudy]:
    with studies(home) as maker:
        yield maker


def keep(
    study: MadeStudy, gflops: float, N: int = 2048, *, measurements: Mapping[str, float] = QUIET, **changes: Any
) -> None:
    """Keep a run as if the study had made it."""
    params = point(**{"NB": 64, "N": N, **changes})
    key, number = study.space.key(params), study.store.begin(begun(key=str(params), params=params))
    P, Q = map(int, str(params["grid"]).split("x"))
    hpl = HplParams(N, int(params["NB"]), P, Q)
    ran = finished(number, gflops, key=key, measurements=measurements, params=params, hpl=hpl, time_s=0.3, cost_s=0.6)
    study.store.finish(ran)


def predicted(
    study: MadeStudy,
    budget: Budget = Budget(),  # noqa: B008 - it is frozen
    engine: str = "random",
) -> NotedPrediction:
    options = TuneOptions(memory_fraction=fraction(), budget=budget)
    space = load("of the kept runs", study.space.machine, text=KEPT_SPACE).at(2048)
    made = make_engine(engine, space, 0)
    replay_records(made, study.records(), study.session.objective)
    found = predict_full(study.trials, study.session.ranking(), options, made)
    assert found is not None
    return found


def smaller(study: MadeStudy) -> list[tuple[object, object]]:
    """NB and N of the runs that were made to predict."""
    return [(record.params["NB"], record.params["N"]) for record in study.records((Kind.EXTRAPOLATION,))]


GROWING = [{"when": {"NB": 64}, "gflops": 60.0}, {"when": {"NB": 128}, "gflops": 80.0}]
"""What they reach at any N; the textbook, whose NB is another, has 50 GFLOPS (`replayed.GFLOPS`)."""
LONG = Budget(wall_s=40.0)


@pytest.mark.usefixtures("mpirun")
def test_what_may_be_the_fastest_and_the_textbook_run_in_turn_at_a_larger_n(make: MakeStudy) -> None:
    study = make(runs=GROWING, budget=LONG)
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    keep(study, 19.5, NB=96)
    noted = predicted(study, LONG)
    runs = study.records((Kind.EXTRAPOLATION,))
    largest = max(int(run.params["N"]) for run in runs)
    in_turn = [int(run.params["NB"]) for run in runs if run.params["N"] == largest]
    fitting = in_turn[2:-5]
    assert in_turn == [192, 64, *fitting, 128, 96, 128, 64, 192], "the slower ones run once"
    assert all(NB > 192 for NB in fitting), "the textbook with the NB that fits the BLAS, where that is another"
    assert 1.2 * 2048 < largest < FULL_N
    assert {run.params["NB"] for run in runs[len(in_turn) :]} == {128}, "only the fastest runs at smaller N"
    assert (noted.called, noted.N, round(noted.gflops)) == ("NB=128", largest, 80)
    rivals = [(rival.called, round(rival.gflops), rival.once) for rival in noted.rivals]
    textbooks = [(f"the textbook with NB={NB}", 50, True) for NB in fitting]
    expected = [("the textbook", 50, False), ("the best of the search", 60, False), *textbooks, ("NB=96", 50, True)]
    assert rivals == expected
    assert "; NB=96 gave 50 in the first round alone" in noted.in_turn
    assert all((rival.faster or 0.0) < 0.5 for rival in noted.rivals)
    assert study.store.get("study", noted.trial).params["NB"] == 128
    assert prediction_of(study.store.study("study")) == noted


@pytest.mark.usefixtures("mpirun")
def test_a_second_round_that_does_not_end_counts_for_none(make: MakeStudy) -> None:
    """NB=128 is fast in its second run; that of NB=64, which was faster in the first round, is not made."""
    stop, turns = StopRequest(), list[int]()

    def stops(event: Event) -> None:
        if isinstance(event, TrialEnded) and event.record.params["NB"] == 128:
            turns.append(event.record.number)
            if len(turns) == 2:
                stop.ask()

    first = [{"when": {"NB": 128}, "first": 1, "gflops": 70.0}, {"when": {"NB": 128}, "gflops": 85.0}]
    study = make(runs=[*first, {"when": {"NB": 64}, "gflops": 75.0}], budget=LONG, listener=stops, stop=stop)
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    noted = predicted(study, LONG)
    assert len(turns) == 2
    assert (noted.called, round(noted.gflops)) == ("the best of the search", 75)
    assert ("NB=128", 70) in [(one.called, round(one.gflops)) for one in noted.rivals]
    assert not any(rival.once for rival in noted.rivals), "all ran in one round"


@pytest.mark.usefixtures("mpirun")
def test_where_trials_alone_are_limited_runs_in_turn_take_half_as_long_as_all_before(make: MakeStudy) -> None:
    study = make(runs=GROWING, budget=Budget(trials=9))
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    study.meter.charge(26.0, trial=True)
    study.meter.spent_wall_s = 26.0
    noted = predicted(study, Budget(trials=9))
    assert (noted.called, round(noted.textbook.gflops if noted.textbook else 0)) == ("NB=128", 50)
    assert noted.N is not None
    assert 1.2 * 2048 < noted.N < FULL_N
    assert study.meter.trials == 1, "what runs in turn is no trial of the search"


@pytest.mark.usefixtures("mpirun")
def test_where_all_runs_in_turn_fail_the_winner_of_the_search_is_handed_over(make: MakeStudy) -> None:
    study = make(runs=[{"ends": "signal"}], budget=LONG)
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    noted = predicted(study, LONG)
    assert len(study.records((Kind.EXTRAPOLATION,))) > 3
    assert study.store.get("study", noted.trial).params["NB"] == 64
    assert noted.in_turn.startswith("Nothing was measured against the textbook")


@pytest.mark.usefixtures("mpirun")
def test_what_the_model_hopes_for_runs_in_turn_though_it_never_ran(make: MakeStudy) -> None:
    study = make(runs=GROWING, budget=LONG)
    keep(study, 20.0)
    keep(study, 19.6, NB=96)
    noted = predicted(study, LONG, "hpl")
    assert study.store.get("study", noted.trial).params["NB"] == 128
    assert not any(run.params["NB"] == 128 for run in study.records((Kind.SEARCH,)))


@pytest.mark.usefixtures("mpirun")
def test_a_winner_that_is_the_textbook_runs_in_turn_as_that(make: MakeStudy) -> None:
    study = make(runs=GROWING, budget=LONG)
    keep(study, 20.0, NB=192)
    keep(study, 19.6, NB=128)
    noted = predicted(study, LONG)
    assert noted.called == "NB=128"
    assert "60.0% more than the textbook (50)" in noted.in_turn
    assert "the best of the search" not in noted.in_turn


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize("budget", [Budget(trials=9), Budget(wall_s=4.0)], ids=["no time", "little time"])
def test_where_no_larger_n_can_be_paid_for_only_the_winner_runs_at_smaller_n(make: MakeStudy, budget: Budget) -> None:
    study = make(runs=TABLE, budget=budget)
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    noted = predicted(study, budget)
    assert (noted.N, noted.rivals) == (None, ())
    assert noted.in_turn == "Nothing was measured against the textbook at a larger N than that of the search."
    assert smaller(study) == [(64, 1024), (64, 512)]


@pytest.mark.usefixtures("mpirun")
def test_what_the_study_measured_at_smaller_n_does_not_run_again(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    for N, gflops in RATES[64].items():
        keep(study, gflops, N)
    assert not predicted(study).full.too_far
    assert smaller(study) == []


@pytest.mark.usefixtures("mpirun")
def test_a_disturbed_run_tells_of_its_n_where_no_other_ran_there(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    for N, gflops in RATES[64].items():
        keep(study, gflops, N, measurements=DISTURBED if N == 2048 else QUIET)
    assert predicted(study).full.largest_n == 2048


@pytest.mark.usefixtures("mpirun")
def test_a_disturbed_run_at_the_largest_n_tells_no_rate_of_a_larger_one(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    for N, gflops in RATES[64].items():
        keep(study, gflops, N, measurements=DISTURBED if N == 2048 else QUIET)
    full = predicted(study).full
    assert (full.can_tell, full.to_json()["gflops"]) == (False, None)
    assert full.sentence == "these runs, up to N=2048, cannot tell its rate: something disturbed the largest of them"


@pytest.mark.usefixtures("mpirun")
def test_a_study_too_small_to_predict_the_whole_memory_tells_how_long_a_run_there_takes(
    hpltune: Run, home: Path
) -> None:
    replaying(home, *TABLE)
    space = ("--space", "quick", "--set", "N=704", "--set", "NB=64", "--set", "grid=1x2", "--set", "layout=2x1")
    asked = ("tune", *space, "--xhpl", "xhpl", "--memory-fraction", f"{fraction():.6f}", "--trials", "1")
    done = hpltune.well(*asked, "--confirm", "1")
    told = r"Next: measure the whole memory, which takes about [\d.]+ (s|min|h).* at the rate of the best, with\n"
    assert re.search(told, done.stdout)


@pytest.mark.usefixtures("mpirun")
def test_the_file_for_the_whole_memory_has_the_values_of_the_fastest_in_turn(hpltune: Run, home: Path) -> None:
    replaying(home, {"when": {"NB": 64}, "gflops": 78.0}, *GROWING)
    space = ("--space", "quick", "--set", "NB=64,128", "--set", "grid=1x2", "--set", "layout=2x1")
    asked = ("tune", *space, "--engine", "grid", "--xhpl", "xhpl", "--memory-fraction", f"{fraction():.6f}")
    told = hpltune.told(*asked, "--confirm", "0", "--study", "two", "--budget", "16s")
    turn = told["full"]["in_turn"]
    named = [turn["called"], *(rival["called"] for rival in turn["rivals"])]
    assert "the textbook" in named, "with the NB that is nearest to 192"
    assert any(name == "the best of the search" or name.startswith("NB=64") for name in named)
    dat = Path(told["full_dat"]).read_text()
    assert dat.splitlines()[1] == f"{told['full']['against_textbook']}."
    assert f"{told['full']['N']}         Ns" in dat
    assert "128          NBs" in dat
    # As of an accelerator whose peak is stated, neither memory nor cores are held against a program that only prints.
    hpltune.well(*told["confirm"].split()[1:], "--rpeak", "200")
    like = hpltune.well("run", told["full_dat"], "--like", "two", "--rpeak", "200", "--json")
    with Store.open(home / "data/hpltune.db") as store:
        assert store.study(json.loads(like.stdout)["study"]).notes.like == f"two#{told['full']['trial']}"
        source, study = figure_source(store, store.study("two")), store.study("two")
        assert source.first is not None
        drawn = size(source.records, source.first, source.predicted, source.confirmed)
        page = [part.text for part in page_of(store, study).report().parts if isinstance(part, Sentence)]
    assert drawn is not None
    assert {one.name for one in drawn.series} >= {f"{rival['called']}: runs" for rival in turn["rivals"]}
    assert turn["sentence"] in page
    assert any(text.startswith("A run there gave 80.00 GFLOPS") for text in page)
