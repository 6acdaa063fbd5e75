"""A reference configuration runs again about every tenth full run, and tells whether the machine changed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from made_study import MakeStudy, point, studies
from record_builders import begun, finished
from replayed import replaying

from results.record import Kind
from tuner.budget import Budget
from tuner.study.search.reference_runs import EVERY, ReferenceRuns

pytestmark = pytest.mark.usefixtures("mpirun")
BLOCKS = ",".join(str(NB) for NB in range(16, 16 * 25, 16))
GRID = (
    *("tune", "--space", "quick", "--set", "N=1000", "--set", f"NB={BLOCKS}", "--set", "grid=1x2"),
    *("--set", "layout=2x1", "--engine", "grid", "--xhpl", "xhpl", "--study", "grid"),
)
S, R = "search", "reference"
WHOLE = [S] * EVERY + [R] + [S] * EVERY + [R] + [S] * 2


@pytest.fixture
def make(home: Path) -> Iterator[MakeStudy]:
    with studies(home) as maker:
        yield maker


def kinds(hpltune: Run, *but: str) -> list[str]:
    trials = hpltune.told("show", "grid")
    return [trial["kind"] for trial in trials if trial["kind"] not in but]


def playing(home: Path, rates: Sequence[float]) -> None:
    """Let the full runs of a study give these rates one after the other, and later ones the last."""
    full = [{"when": {"N": 1000}, "first": 1, "gflops": rate} for rate in rates]
    replaying(home, *full, gflops=rates[-1])


@pytest.mark.usefixtures("prints_hpl")
def test_the_first_configuration_runs_again_after_every_tenth_full_run_within_the_trials(hpltune: Run) -> None:
    done = hpltune.well(*GRID, "--trials", "24", "--confirm", "0")
    assert kinds(hpltune, "pilot", "extrapolation") == WHOLE
    trials = hpltune.told("show", "grid")
    first = next(trial["key"] for trial in trials if trial["kind"] == S)
    assert {trial["key"] for trial in trials if trial["kind"] == R} == {first}
    said = " ".join(done.stdout.split())
    assert "Reference: trial 2 ran again 2 times during the search (" in said
    assert "); no drift and no second speed of the machine was seen." in said
    best = hpltune.told("best", "grid")
    assert {entry["runs"] for entry in best["ranking"]} == {1, 3}, "they are repeats of their configuration"


@pytest.mark.usefixtures("prints_hpl")
def test_a_study_that_is_resumed_runs_the_same_as_one_that_was_not_stopped(hpltune: Run) -> None:
    began = hpltune(*GRID, "--trials", "20", "--confirm", "0")
    assert "; it takes 3 runs of it to tell a drift." in " ".join(began.stdout.split())
    assert kinds(hpltune, "pilot", "extrapolation") == WHOLE[:20]
    hpltune("tune", "--resume", "--study", "grid", "--trials", "24")
    assert kinds(hpltune, "pilot", "extrapolation") == WHOLE


@pytest.mark.usefixtures("prints_hpl")
@pytest.mark.parametrize("options", [("--trials", "19"), ("--trials", "20", "--no-reference")])
def test_with_few_trials_or_where_the_user_wants_none_nothing_runs_again(hpltune: Run, options: Sequence[str]) -> None:
    done = hpltune(*GRID, *options, "--confirm", "0")
    assert set(kinds(hpltune, "pilot", "extrapolation")) == {S}
    assert "Reference" not in done.stdout


def test_a_machine_that_slows_during_the_search_is_told_everywhere_and_gets_no_percentage(
    hpltune: Run, home: Path
) -> None:
    playing(home, [50.0 - 0.5 * turn for turn in range(24)])
    done = hpltune(*GRID, "--trials", "24", "--confirm", "2")
    told = "the reference configuration, which ran 3 times during the search (first as trial 2), got 21 % slower"
    assert told[1:] in " ".join(done.stdout.split())
    for command in (("best", "grid"), ("compare", "grid", "--by", "NB"), ("export", "md", "grid")):
        assert told in " ".join(hpltune(*command).stdout.split()), command
    hpltune("report", "grid", "-o", "page.html")
    assert told in (home / "page.html").read_text()
    best = hpltune.told("best", "grid")
    assert "the machine slowed by 21 % meanwhile" in best["confidence_not_told"]


def test_two_speeds_of_the_machine_are_told_as_such(hpltune: Run, home: Path) -> None:
    playing(home, [50.0, 49.98, 46.0, 50.02, 45.98, 49.99, 46.01] * 6)
    done = hpltune(*GRID, "--trials", "24", "--confirm", "3")
    told = "runs of one configuration fall into two speeds, about 8 % apart, and which one a run had is not known"
    assert told[1:] in " ".join(done.stdout.split())
    assert told in " ".join(hpltune("best", "grid").stdout.split())
    assert told in " ".join(hpltune("compare", "grid", "--by", "NB").stdout.split())


@pytest.mark.parametrize(("budget", "runs"), [
    (Budget(), True), (Budget(wall_s=32.0), False), (Budget(run_s=32.0), False), (Budget(wall_s=33.0), True),
    (Budget(trials=19), False), (Budget(trials=20), True),
])  # fmt: skip
def test_it_takes_at_most_a_tenth_of_the_budget(make: MakeStudy, budget: Budget, runs: bool) -> None:  # noqa: FBT001
    """Each run of the search took 3.25 s."""
    study = make(budget=budget)
    for number in range(1, EVERY + 1):
        params = point(NB=32 * number)
        study.store.begin(begun(key=f"{number}", params=params))
        study.store.finish(finished(number, 50.0, key=f"{number}", params=params))
        reference = ReferenceRuns(study.session, study.trials)
        assert reference.run_if_due() == (runs and number == EVERY)
    again = study.records((Kind.REFERENCE,))
    assert [record.params["NB"] for record in again] == ([32] if runs else [])


def test_a_first_configuration_that_is_far_slower_than_others_is_no_reference(make: MakeStudy) -> None:
    study = make()
    for number in range(1, EVERY + 1):
        params = point(NB=32 * number)
        gflops = 20.0 if number == 1 else 50.0
        study.store.begin(begun(key=f"{number}", params=params))
        study.store.finish(replace(finished(number, gflops, key=f"{number}", params=params)))
    assert ReferenceRuns(study.session, study.trials).run_if_due()
    assert [record.params["NB"] for record in study.records((Kind.REFERENCE,))] == [64]
