"""The first runs of a study, from which N follows: disturbed ones do not count where there are others."""

from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from disturbing import disturbing
from record_builders import DISTURBED, QUIET, finished

from hpl.params import HplParams
from results.record import BlasObservation, Kind, TrialRecord
from results.store.store import Store
from tuner.study.sizing.pilot import samples_of
from tuner.study.sizing.size import first_runs


def first_run(number: int, N: int, gflops: float, *, disturbed: bool = False) -> TrialRecord:
    measured = DISTURBED if disturbed else QUIET
    return finished(number, gflops, kind=Kind.PILOT, hpl=HplParams(N, 64, 1, 2), measurements=measured)


def test_a_disturbed_run_tells_nothing_of_the_size_where_a_quiet_one_does() -> None:
    runs = [first_run(1, 1024, 20.0), first_run(2, 4096, 9.0, disturbed=True)]
    assert [sample.N for sample in samples_of(runs)] == [1024]
    again = [*runs, first_run(3, 4096, 40.0)]
    assert [(sample.N, round(sample.time_s, 1)) for sample in samples_of(again)] == [(1024, 0.0), (4096, 1.1)]


def test_a_run_on_nodes_that_are_lost_tells_what_it_takes_on_those_that_are_left() -> None:
    run = replace(first_run(1, 4096, 40.0), observed=BlasObservation("", "", "", 1, ("h1", "h2", "h3", "h4")))
    on_four, on_three, on_five = (samples_of([run], nodes)[0] for nodes in (4, 3, 5))
    assert (on_four, on_five) == (samples_of([run])[0], on_four)
    assert on_three.time_s == pytest.approx(4 / 3 * on_four.time_s)
    assert on_three.cost_s - on_three.time_s == pytest.approx(on_four.cost_s - on_four.time_s)


def test_the_size_on_the_nodes_left_follows_from_pilots_there_unless_the_study_was_searched() -> None:
    observed = BlasObservation("", "", "", 1, ("h1", "h2", "h3"))
    on_three = [replace(first_run(number, 1024 * number, 40.0), observed=observed) for number in (1, 2)]
    on_two = replace(first_run(3, 1024, 20.0), observed=replace(observed, hosts=("h1", "h2")))
    assert first_runs(on_three, 3) == on_three
    assert first_runs([*on_three, on_two], 2) == [on_two], "they do not decide alone: more pilots run"
    searched = replace(on_two, kind=Kind.SEARCH, params={"N": 2048})
    assert first_runs([*on_three, searched], 2) == on_three


def test_where_all_were_disturbed_the_fastest_of_each_size_counts() -> None:
    rates = [(1, 1024, 5.0), (2, 1024, 20.0), (3, 4096, 9.0)]
    runs = [first_run(*rate, disturbed=True) for rate in rates]
    assert [sample.N for sample in samples_of(runs)] == [1024, 4096]
    assert samples_of(runs)[0] == samples_of(runs[1:2])[0]


def test_a_study_repeats_a_first_run_that_was_disturbed(
    hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = home / "space.toml"
    space.write_text('parameters = { NB = [32, 64], N = 1000, layout = "1x1" }\n')
    asked = ("tune", "--space", str(space), "--xhpl", str(prints_hpl), "--trials", "2", "--confirm", "1")
    with disturbing(monkeypatch, {1}):
        done = hpltune(*asked, "--study", "once")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Trial 1 was disturbed (others took" in said
    assert "and N follows from it: it runs again." in said
    assert "All first runs were disturbed" not in said
    with disturbing(monkeypatch, range(100)):
        done = hpltune(*asked, "--study", "always")
    assert done.returncode == 0, done.stderr
    assert "All first runs were disturbed: HPL looks slower" in " ".join(done.stdout.split())
    with Store.open(home / "data/hpltune.db") as store:
        first = [run for run in store.records("once") if run.kind is Kind.PILOT]
        assert [run.disturbed is None for run in first[:2]] == [False, True]
        assert first[0].params == first[1].params
