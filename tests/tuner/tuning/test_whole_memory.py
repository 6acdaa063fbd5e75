"""What runs at smaller N tell of the winner and its rivals at the whole memory."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from as_user import Run
from made_study import MadeStudy, MakeStudy, point, studies
from record_builders import begun, finished
from replayed import replaying

from hpl.params import HplParams
from results.record import Kind
from results.report.model import Sentence
from results.store.store import Store
from tuner.budget import Budget
from tuner.commands.stored.report import figure_source, page_of
from tuner.options import TuneOptions
from tuner.reports.figures.size import size
from tuner.tuning.prediction import NotedPrediction, prediction_of
from tuner.tuning.whole_memory import predict_full, rivals_of

RATES = {64: {512: 17.0, 1024: 19.0, 2048: 20.0}, 128: {512: 13.0, 1024: 17.0, 2048: 19.6}}
"""NB=64 is faster up to N=2048, and the rate of NB=128 grows faster."""
TABLE = [{"when": {"NB": NB, "N": N}, "gflops": gflops} for NB, rates in RATES.items() for N, gflops in rates.items()]
FULL_N = 6000


def fraction() -> float:
    """The part of this machine's memory that a matrix of FULL_N takes."""
    return 8 * FULL_N**2 / psutil.virtual_memory().available


@pytest.fixture
def make(home: Path) -> Iterator[MakeStudy]:
    with studies(home) as maker:
        yield maker


def keep(study: MadeStudy, gflops: float, N: int = 2048, kind: Kind = Kind.SEARCH, **changes: Any) -> None:
    """Keep a run as if the study had made it."""
    params = point(**{"NB": 64, "N": N, **changes})
    key, number = study.space.key(params), study.store.begin(begun(key=str(params), kind=kind, params=params))
    P, Q = map(int, str(params["grid"]).split("x"))
    hpl = HplParams(N, int(params["NB"]), P, Q)
    study.store.finish(
        replace(finished(number, gflops, key=key, params=params, hpl=hpl, time_s=0.3, cost_s=0.6), kind=kind)
    )


def predicted(study: MadeStudy) -> NotedPrediction:
    options = TuneOptions(memory_fraction=fraction())
    found = predict_full(study.workers[0], study.session.ranking(), options)
    assert found is not None
    return found


def smaller(study: MadeStudy) -> list[tuple[object, object]]:
    """NB and N of the runs that were made to predict."""
    return [(record.params["NB"], record.params["N"]) for record in study.records((Kind.EXTRAPOLATION,))]


def test_only_those_rival_the_winner_that_are_close_and_other_in_what_changes_with_n(make: MakeStudy) -> None:
    study = make()
    keep(study, 20.0)
    keep(study, 19.9, DEPTH=0)
    keep(study, 19.8, NB=128)
    keep(study, 19.7, NB=128, BCAST="2rg")
    keep(study, 19.6, grid="2x1")
    keep(study, 19.5, NB=96)
    keep(study, 18.9, NB=32)
    found = rivals_of(study.session.ranking())
    assert [(entry.params["NB"], entry.params["grid"]) for entry in found] == [(128, "1x2"), (64, "2x1")]
    keep(study, 30.0, NB=256)
    assert rivals_of(study.session.ranking()) == [], "none is within 5 % of it any more"


@pytest.mark.usefixtures("mpirun")
def test_a_rival_runs_at_the_same_smaller_n_and_is_told_beside_the_winner(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    noted = predicted(study)
    assert smaller(study) == [(64, 1024), (64, 512), (128, 1024), (128, 512)]
    assert noted.full.gflops < noted.rivals[0].full.gflops
    assert noted.overtaker is not None
    assert (noted.overtaker.trial, noted.overtaker.differs) == (2, "NB=128")
    assert (noted.overtaker.faster or 0.0) > 0.5
    assert prediction_of(study.store.study("study")) == noted


@pytest.mark.usefixtures("mpirun")
def test_what_the_study_measured_at_smaller_n_does_not_run_again(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    for NB, rates in RATES.items():
        for N, gflops in rates.items():
            keep(study, gflops, N, NB=NB)
    noted = predicted(study)
    assert smaller(study) == []
    assert noted.overtaker is not None


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize(("changes", "why"), [
    ({"NB": 64, "DEPTH": 0}, "it is alike in what changes with N"), ({"NB": 128, "N": 1920}, "it ran at another N"),
])  # fmt: skip
def test_without_rivals_only_the_winner_runs(make: MakeStudy, changes: Mapping[str, Any], why: str) -> None:
    study = make(runs=TABLE)
    keep(study, 20.0)
    keep(study, 19.8, **changes)
    assert predicted(study).rivals == (), why
    assert smaller(study) == [(64, 1024), (64, 512)]


@pytest.mark.usefixtures("mpirun")
def test_a_rival_whose_runs_do_not_fit_the_budget_is_not_told(make: MakeStudy) -> None:
    study = make(runs=TABLE, budget=Budget(run_s=1.5))
    keep(study, 20.0)
    keep(study, 19.6, NB=128)
    study.ledger.count(study.records())
    assert predicted(study).rivals == ()
    assert (128, 1024) not in smaller(study)


@pytest.mark.usefixtures("mpirun")
def test_no_rival_runs_where_the_whole_memory_is_too_far_to_tell_anything(make: MakeStudy) -> None:
    study = make(runs=TABLE)
    keep(study, 20.0, N=704)
    keep(study, 19.6, N=704, NB=128)
    assert predicted(study).full.too_far
    assert {NB for NB, _ in smaller(study)} == {64}


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun")
def test_a_study_too_small_to_predict_the_whole_memory_tells_how_long_a_run_there_takes(
    hpltune: Run, home: Path
) -> None:
    replaying(home, *TABLE)
    space = ("--space", "quick", "--set", "N=704", "--set", "NB=64", "--set", "grid=1x2", "--set", "layout=2x1")
    asked = ("tune", *space, "--xhpl", "xhpl", "--memory-fraction", f"{fraction():.6f}", "--trials", "1")
    done = hpltune(*asked, "--confirm", "1")
    assert done.returncode == 0, done.stderr
    told = r"Next: measure the whole memory, which takes about [\d.]+ (s|min|h).* at the rate of the best, with\n"
    assert re.search(told, done.stdout)


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun")
def test_a_study_writes_the_file_of_a_rival_that_may_be_faster_and_its_page_shows_it(hpltune: Run, home: Path) -> None:
    replaying(home, *TABLE)
    space = ("--space", "quick", "--set", "N=2048", "--set", "NB=64,128", "--set", "grid=1x2", "--set", "layout=2x1")
    asked = ("tune", *space, "--engine", "grid", "--xhpl", "xhpl", "--memory-fraction", f"{fraction():.6f}")
    done = hpltune(*asked, "--confirm", "0", "--study", "two", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (rival,) = told["full"]["rivals"]
    assert rival["differs"] == "NB=128"
    assert told["rival_dat"].endswith(f"HPL-{rival['trial']}-full.dat")
    dat = Path(told["rival_dat"]).read_text()
    assert f"{rival['N']}         Ns" in dat
    assert "128          NBs" in dat
    assert told["confirm_rival"] == f"hpltune run {told['rival_dat']} --like two#{rival['trial']}"
    said = hpltune(*asked, "--confirm", "0", "--study", "said").stdout
    assert re.search(r"At N=\d+ NB=128 \(trial \d+\) may be faster than the best: ", said)
    assert "Try it with\n  hpltune run " in said
    # As of an accelerator whose peak is stated, neither memory nor cores are held against a program that only prints.
    ran = hpltune(*told["confirm_rival"].split()[1:], "--rpeak", "200")
    assert ran.returncode == 0, ran.stderr
    with Store.open(home / "data/hpltune.db") as store:
        source, study = figure_source(store, store.study("two")), store.study("two")
        assert source.best is not None
        drawn = size(source.records, source.best, source.predicted, source.confirmed)
        page = [part.text for part in page_of(store, study).report().parts if isinstance(part, Sentence)]
    assert drawn is not None
    (line,) = (one for one in drawn.series if one.name == f"NB=128 (trial {rival['trial']})")
    assert line.x == (512.0, 1024.0, 2048.0, float(rival["N"]))
    assert line.y[-1] == rival["gflops"]
    assert drawn.series[0].name == "NB=64, the best: runs"
    assert f"{rival['sentence']}." in page
    assert any(text.startswith(f"A run of NB=128 (trial {rival['trial']}) there gave 50.00 GFLOPS") for text in page)
