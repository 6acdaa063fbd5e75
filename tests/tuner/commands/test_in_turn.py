"""The best configurations of studies run in turn by a real executable whose rates a test sets."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from record_builders import a_study, begun, finished
from replayed import replaying

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import REPLAY_OF, SIMULATOR, Kind
from results.report.model import Sentence
from results.stats.occasions import Occasions
from results.store.store import Store
from tuner.asks.compare import CompareAsk
from tuner.commands.campaigns.in_turn import InTurnRequest, compare_in_turn
from tuner.commands.stored.compare import CompareResult
from tuner.errors import UsageError
from tuner.events import Event, TrialEnded
from tuner.options import TuneOptions
from tuner.stopping import StopRequest

N = 600
STORED = (1.0, 1.004, 0.997)
"""Rates of all stored runs: what runs now is told by the program."""
Add = Callable[..., None]


@pytest.fixture
def database(home: Path) -> str:
    return str(home / "study.db")


@pytest.fixture
def add(home: Path, database: str) -> Add:
    """Stores a study whose best configuration has this NB."""

    def store(name: str, NB: int, rates: tuple[float, ...] = STORED, **changes: Any) -> None:
        options = TuneOptions(xhpl=home / "xhpl").to_json()
        hpl = HplParams(N, NB, 1, 1)
        with Store.open(database) as opened:
            opened.create_study(a_study(name, **{"options": options, "host": {}, **changes}))
            for rate in rates:
                number = opened.begin(begun(name, f"{NB}|1x1"))
                shape = {"hpl": hpl, "hpl_dat": render(HplDat.of(hpl)), "blas": "xhpl", "kernel": "auto", "ranks": 1}
                record = finished(number, rate, name, key=f"{NB}|1x1", time_s=0.15, observed=None, **shape)
                opened.finish(replace(record, params={"NB": NB, "grid": "1x1", "blas": "xhpl"}))

    return store


@pytest.fixture
def two(add: Add) -> None:
    """Two studies whose stored rates do not differ."""
    add("before", 50)
    add("after", 100)


def rates_now(home: Path, before: float, after: float, **more: Any) -> None:
    """Make the program of the machine of today, whose runs differ by 1 % at most."""
    runs = [{"when": {"NB": 50}, "gflops": before, **more}, {"when": {"NB": 100}, "gflops": after}]
    replaying(home, *runs, spread=0.01)


def compared(database: str, *names: str, stop_after: int = 0, **more: Any) -> CompareResult | str:
    ended, stop = list[Event](), StopRequest()

    def listener(event: Event) -> None:
        ended.extend([event] if isinstance(event, TrialEnded) else [])
        if stop_after and len(ended) == stop_after:
            stop.ask()

    request = InTurnRequest(CompareAsk(names or ("after", "before")), db=database, **more)
    return compare_in_turn(request, listener, stop)


def facts_of(result: CompareResult | str) -> Mapping[str, Any]:
    assert isinstance(result, CompareResult)
    facts = result.report().facts
    assert isinstance(facts, list)
    [pair] = facts
    assert isinstance(pair, dict)
    return pair


def said(result: CompareResult | str) -> str:
    assert isinstance(result, CompareResult)
    return " ".join(part.text for part in result.report().parts if isinstance(part, Sentence))


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun", "two")
def test_a_difference_that_two_occasions_would_hide_shows_in_one(home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05)
    result = compared(database)
    facts = facts_of(result)
    assert Occasions().reach(0.05) > 0.05, "two occasions may be further apart than these sides"
    assert facts["difference_shown"]
    assert facts["test"] == "paired"
    assert facts["occasions"] is None
    assert facts["effect_percent"] == pytest.approx(5, abs=1.5)
    assert facts["runs"] == [6, 6]
    assert [side["name"] for side in facts["sides"]] == ["after", "before"]
    assert facts["measured_in_turn"]["study"] == "compare-1"
    assert said(result).startswith(("after is probably 5.", "after is probably 4."))
    assert "Whether something disturbed runs of after and before is not known." in said(result)
    assert (
        "Measured in turn, in one occasion (6 rounds, study compare-1): a difference between occasions does not count."
        in said(result)
    )


@pytest.mark.usefixtures("mpirun", "two")
def test_each_round_runs_all_sides_in_the_other_order_and_the_study_keeps_the_runs(home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05)
    compared(database, rounds=4)
    with Store.open(database) as store:
        runs = store.records("compare-1")
        assert store.study("compare-1").state == "complete"
    assert [run.params["side"] for run in runs] == ["after", "before", "before", "after"] * 2
    assert {run.kind for run in runs} == {Kind.CONFIRMATION}
    assert {run.hpl.NB for run in runs if run.hpl and run.params["side"] == "after"} == {100}


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun", "two")
def test_the_command_tells_the_verdict_and_its_study_tells_the_same(hpltune: Run, home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05)
    names = ("compare", "after", "before", "--interleaved", "--db", database, "--rounds", "4")
    done = hpltune.well(*names)
    assert "In turn: the best of each study once a round" in done.stdout
    assert "Measured in turn, in one occasion (4 rounds, study compare-1)" in " ".join(done.stdout.split())
    scripted = hpltune(*names, "--json")
    [pair] = json.loads(scripted.stdout)
    assert pair["measured_in_turn"] == {
        "study": "compare-2",
        "rounds": "4 rounds",
        "ended": "",
        "failures": [],
        "unlike": [],
    }
    [again] = hpltune.told("compare", "compare-2", "--by", "side", "--db", database)
    assert again["test"] == "paired"
    assert again["interval_percent"] == pytest.approx(pair["interval_percent"])


@pytest.mark.usefixtures("mpirun", "two")
def test_a_stop_keeps_what_ran_and_tells_what_it_tells(home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05)
    assert "Stopped in round 2 of 6." in said(compared(database, stop_after=3))
    with Store.open(database) as store:
        assert len(store.records("compare-1")) == 3
        assert store.study("compare-1").state == "interrupted"
    told = compared(database, stop_after=1)
    assert told == "Stopped in round 1 of 6. before has no valid run. Stored as study compare-2."


@pytest.mark.usefixtures("mpirun", "two")
def test_a_side_of_which_no_run_counts_ends_with_1_and_says_why(hpltune: Run, home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05, passed=False, residual=99.0)
    names = ("compare", "before", "after", "--interleaved", "--db", database, "--rounds", "4")
    told = " ".join(hpltune.refused(*names, code=1).split())
    assert "The rounds ended: before: its best configuration failed 2 times in a row: " in told
    assert "before has no valid run. Trial 1 does not count: " in told
    assert "Stored as study compare-1." in told


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun", "two")
def test_a_run_that_fails_is_told_and_the_others_are_compared(home: Path, database: str) -> None:
    runs = [{"when": {"NB": 50}, "gflops": 1.0, "first": 1, "passed": False, "residual": 99.0}]
    runs += [{"when": {"NB": 50}, "gflops": 1.0}, {"when": {"NB": 100}, "gflops": 1.05}]
    replaying(home, *runs, spread=0.01)
    result = compared(database)
    assert facts_of(result)["runs"] == [5, 5]
    assert "does not count" in said(result)


@pytest.mark.usefixtures("mpirun", "two")
def test_a_budget_ends_the_rounds_and_one_that_holds_no_round_is_refused(home: Path, database: str) -> None:
    rates_now(home, 1.0, 1.05)
    result = compared(database, wall_s=0.31, rounds=50)
    assert "The budget ended after 1 round of 50" in said(result)
    with pytest.raises(UsageError, match=r"one round takes about .*, more than ⟦budget⟧ .* allows"):
        compared(database, wall_s=0.2)


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun")
def test_programs_that_differ_run_in_turn_and_each_side_has_its_own(home: Path, database: str, add: Add) -> None:
    add("before", 50)
    add("after", 50, options=TuneOptions(xhpl=home / "other").to_json())
    replaying(home, gflops=1.0, spread=0.01)
    replaying(home, name="other", gflops=1.1, spread=0.01)
    assert facts_of(compared(database))["effect_percent"] == pytest.approx(10, abs=1.5)
    with pytest.raises(UsageError, match=r"ran the programs of several studies in turn: name after and before"):
        compared(database, "before", "compare-1")


@pytest.mark.usefixtures("two")
def test_what_cannot_run_here_is_refused_in_one_sentence(home: Path, database: str, add: Add) -> None:
    rates_now(home, 1.0, 1.05)
    add("simulated", 100, versions={SIMULATOR: "SimGrid 3.36"})
    add("replayed", 100, versions={SIMULATOR: f"{REPLAY_OF}t.csv"})
    add("empty", 100, ())
    add("far", 100, options=TuneOptions(real_cluster={"nodes": ["n1", "n2"]}).to_json())
    refused = {
        "simulated": "a comparison in turn measures real machines: simulated was simulated",
        "replayed": "a comparison in turn measures real machines: replayed was replayed",
        "empty": "empty: that study has no valid run to compare with",
        "far": "needs studies of the same hosts: before and far did not run on the same ones",
        "other.db#x": "what that names is not run here",
        "before": "study before is named twice",
    }
    for name, sentence in refused.items():
        with pytest.raises(UsageError) as caught:
            compared(database, "before", name)
        assert sentence in str(caught.value), name
    with Store.open(database) as store:
        assert not [study.name for study in store.studies() if study.name.startswith("compare")]


@pytest.mark.usefixtures("mpirun", "two")
def test_a_study_of_another_machine_and_equal_configurations_are_refused(home: Path, database: str, add: Add) -> None:
    rates_now(home, 1.0, 1.05)
    add("there", 100, host={"hostname": "a-host-that-is-not-this-one"})
    with pytest.raises(UsageError, match=r"there ran on another: its host name is a-host-that-is-not-this-one, not "):
        compared(database, "before", "there")
    add("twin", 50)
    with pytest.raises(UsageError, match=r"before and twin have the same best configuration.*check ⟦baseline⟧ before"):
        compared(database, "before", "twin")


@pytest.mark.usefixtures("two")
def test_an_imported_output_that_does_not_tell_its_hpl_dat_is_refused(database: str) -> None:
    with Store.open(database) as store:
        store.create_study(a_study("mail", engine="import", host={}))
        number = store.begin(begun("mail", kind=Kind.IMPORTED))
        store.finish(replace(finished(number, 1.0, "mail", hpl=None, hpl_dat=""), kind=Kind.IMPORTED))
    with pytest.raises(UsageError, match=r"mail: the output of mail#1 does not tell"):
        compared(database, "before", "mail")
