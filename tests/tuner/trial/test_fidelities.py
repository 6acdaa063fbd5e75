"""Less than a full run: small runs, prefixes, runs that are given up, and what is stored of them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from explain_builders import keep, searched
from record_builders import finished
from replayed import replaying

from hpl.params import Scalar
from hpl.witness import Panel, parse_panels
from results.store.store import Store
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.trial.early_stopping import FEWEST, EarlyStopping
from tuner.trial.launch import LaunchResult, LaunchWatch
from tuner.trial.observers.early_stopping import EarlyStoppingObserver
from tuner.trial.plan import plan
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs


@pytest.fixture
def workbench(home: Path) -> Workbench:
    """On the data folder of this test's user."""
    assert home.is_dir()
    return Workbench.open(TuneOptions(blas_only=("openblas",)), UserDirs.of_user(), lambda _: None, probing=False)


def run_prefix(workbench: Workbench, folder: Path, part: float, **changes: Scalar) -> LaunchResult:
    point = {**textbook(N=1000, NB=32, blas="openblas", kernel="auto", ranks=2, threads=1), **changes}
    asked = replace(plan(point, workbench.site), stop_at=part)
    return workbench.evaluator.run(asked, folder, 60.0, StopRequest())


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("part", [0.1, 0.5])
@pytest.mark.parametrize("changes", [{"grid": "1x2", "DEPTH": 1}, {"grid": "1x2", "BCAST": "LnM"}, {"grid": "2x1"}])
def test_all_ranks_leave_together_at_the_column(
    workbench: Workbench, tmp_path: Path, part: float, changes: dict[str, Scalar]
) -> None:
    measured = run_prefix(workbench, tmp_path / "run", part, **changes)
    assert measured.verdict.faults == (None,)
    assert measured.verdict.results == ()
    last = parse_panels(measured.errors_text)[-1]
    assert last.stopped
    assert part * 1000 <= last.column < part * 1000 + 32
    assert last.time_s > 0
    assert "PASSED" not in measured.output


@pytest.mark.usefixtures("real_hpl")
def test_a_prefix_that_does_not_stop_where_it_should_is_a_failure(workbench: Workbench, tmp_path: Path) -> None:
    measured = run_prefix(workbench, tmp_path / "run", 0.1, N=16, NB=32)
    (fault,) = measured.verdict.faults
    assert fault is not None
    assert fault.reason == "the run did not stop where it was asked to"


def test_a_study_stores_small_runs_beside_full_ones_and_ranks_only_full_ones(
    hpltune: Run, home: Path, mpirun: str
) -> None:
    assert mpirun
    replaying(home, spread=0.01)
    options = ("--space", "quick", "--set", "N=4000", "--xhpl", "xhpl", "--trials", "7", "--confirm", "1")
    done = hpltune.well("tune", *options, "--study", "rungs", "--json")
    trials = hpltune.told("show", "rungs")
    small = [trial for trial in trials if trial["kind"] == "small"]
    assert small, done.stderr
    assert all(trial["N"] < 4000 and trial["params"]["N"] == 4000 and trial["part"] < 0.4 for trial in small)
    ranked = json.loads(done.stdout)["ranking"]
    assert {entry["params"]["N"] for entry in ranked} == {4000}
    assert {entry["trial"] for entry in ranked}.isdisjoint(trial["number"] for trial in small)
    assert (json.loads(done.stdout)["confidence"] is None) == (len(ranked) == 1), "a single one has none to beat"
    explained = hpltune.well("explain", "rungs")
    assert "what matters, from" in explained.stdout
    again = hpltune.well(
        "tune", *options[:-4], "--trials", "1", "--confirm", "0", "--warm-start", "rungs", "--study", "warm"
    )
    told = "Warm start from study rungs: (all configurations are|its configuration is) in this space"
    assert re.search(told, again.stdout), "on a busy machine one configuration may be all that was run"


@pytest.mark.usefixtures("real_hpl")
def test_a_run_that_cannot_win_is_ended_and_its_beginning_kept(workbench: Workbench, tmp_path: Path) -> None:
    early_stopping = EarlyStopping()
    for _ in range(FEWEST):
        early_stopping.learn([Panel(1000, column, 1e-4 + column / 1e3) for column in range(0, 1000, 32)], 0.4)
    watch = LaunchWatch([EarlyStoppingObserver(early_stopping, must_reach_gflops=1e6)])
    point = textbook(N=9000, NB=64, blas="openblas", kernel="auto", ranks=2, threads=1)
    asked = plan(point, workbench.site)
    measured = workbench.evaluator.run(asked, tmp_path / "run", 120.0, StopRequest(), watch)
    assert measured.stopped is not None
    assert measured.verdict.cancelled
    assert measured.stopped.part < 0.7
    assert measured.stopped.most_gflops < 1e6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--objective", "usd-per-gflops"),
            "--objective usd-per-gflops needs price_usd of the machine: give it with --price",
        ),
        (("--objective", "speed"), "--objective speed: choose one of gflops"),
        (("--warm-start", "nowhere"), "--warm-start nowhere: there is no study and no file of that name"),
        (("--engine", "hlp"), "did you mean hpl?"),
    ],
)
def test_bad_options_end_before_anything_runs(hpltune: Run, options: tuple[str, ...], sentence: str) -> None:
    done = hpltune("tune", *options)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_to_explain_is_said(hpltune: Run, home: Path) -> None:
    with Store.open(home / "data/hpltune.db") as store:
        point = textbook(N=600, NB=64, blas="openblas", kernel="auto", ranks=2, threads=1)
        keep(store, searched("quick", name="one"), [finished(1, study="one", params=point)])
    done = hpltune("explain", "one")
    assert done.returncode != 0
    assert "at least 5 are needed to explain anything" in done.stderr
