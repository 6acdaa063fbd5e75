"""A stored study is measured again by a real executable whose speed a test sets."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from as_user import Run, program
from present import present
from record_builders import a_study, add_facts, begun, finished
from replayed import replaying

from hpl.dat import HplDat, render
from hpl.params import HplParams, Scalar
from results.disturbance import Cause, Conditions, Disturbance, Reason
from results.record import SIMULATOR, StudyNotes, ToldCaution
from results.report.model import Sentence, Table
from results.store.store import Store
from tuner.asks.check import CheckAsk, CheckVerdict
from tuner.commands.campaigns.check import CheckRequest, CheckResult, check, check_of_study
from tuner.commands.stored.import_outputs import import_outputs
from tuner.errors import TunerError, UsageError
from tuner.events import OTHERS, Event, Notice, TrialEnded
from tuner.options import TuneOptions
from tuner.stopping import StopRequest

HPL = HplParams(1000, 100, 1, 1)
PRINTS = """#!{python}
import time
from pathlib import Path
runs = Path({home!r}, "runs")
number = int(runs.read_text()) if runs.exists() else 0
runs.write_text(str(number + 1))
rate = {rates}[number % len({rates})]
time_s = (2 / 3 * 1000**3 + 1.5 * 1000**2) / rate / 1e9
time.sleep(time_s)
print(f"WR11C2R4 1000 100 1 1 {{time_s:.6f}} {{rate:.6e}}")
print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.0039 ...... {residual}")
print("End of Tests.")
"""
"""An HPL that prints one rate after the other."""
BEFORE = (2.0, 2.004, 1.997)
Fake = Callable[..., Path]


@pytest.fixture
def xhpl(home: Path) -> Fake:
    """Makes the program of the machine of today."""

    def make(*rates: float, residual: str = "PASSED") -> Path:
        python = shlex.quote(sys.executable)
        return program(home / "xhpl", PRINTS.format(python=python, home=str(home), rates=rates, residual=residual))

    return make


def measure(store: Store, study: str, hpl: HplParams, *rates: float, **changes: Any) -> None:
    """Store runs of one configuration."""
    key = f"{hpl.NB}|1x1"
    params: dict[str, Scalar] = {"NB": hpl.NB, "grid": "1x1", "blas": "xhpl"}
    shape = {"hpl": hpl, "hpl_dat": render(HplDat.of(hpl)), "blas": "xhpl", "kernel": "auto", "ranks": 1, **changes}
    for rate in rates:
        number = store.begin(begun(study, key, **changes))
        store.finish(replace(finished(number, rate, study, key=key, **shape), params=params))


@pytest.fixture
def database(home: Path) -> str:
    """A database with the study "before" of the program xhpl."""
    db = str(home / "study.db")
    options = TuneOptions(xhpl=home / "xhpl").to_json()
    facts = {"cpu_model": "CPU of yesterday", "memory_available_bytes": 1}
    with Store.open(db) as store:
        store.create_study(a_study("before", options=options, host=facts, versions={"hpl": "2.2"}))
        store.create_study(a_study("simulated", versions={SIMULATOR: "SimGrid 3.36"}))
        store.create_study(a_study("empty"))
        measure(store, "before", HPL, *BEFORE)
    return db


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures of every run that nothing took the machine from it, as the program of these tests does not."""
    monkeypatch.setattr("results.record.judge_run", lambda *_, **__: (Conditions.UNDISTURBED, None))


def checked(request: CheckRequest) -> CheckResult:
    return check(request, lambda _: None, StopRequest())


def junit_case(file: Path) -> ET.Element:
    assert "⟦" not in file.read_text(), "what the program calls a field is no word for people"
    return present(ET.fromstring(file.read_text()).find("testsuite/testcase"))  # noqa: S314


@pytest.mark.usefixtures("mpirun")
def test_a_machine_of_the_same_speed_is_not_slower(home: Path, database: str, xhpl: Fake) -> None:
    xhpl(2.001, 1.999, 2.003)
    junit = home / "new" / "check.xml"
    result = checked(CheckRequest(CheckAsk("before"), junit=junit, db=database))
    assert result.verdict is CheckVerdict.NOT_SLOWER
    assert result.gflops == (2.001, 1.999, 2.003)
    assert result.measured.study.name == "run-before-1"
    with Store.open(database) as store:
        assert len(store.records("run-before-1")) == 3
    assert junit_case(junit).find("failure") is None
    changes = {change.what: change.before for change in result.changes}
    assert changes["CPU"] == "CPU of yesterday"
    assert changes["HPL"] == "2.2"
    assert "memory" not in changes
    assert [part.title for part in result.report().parts if isinstance(part, Table)] == ["What else changed"]


@pytest.mark.usefixtures("mpirun", "quiet")
def test_a_slower_machine_fails_the_test_of_junit_and_the_command(
    hpltune: Run, home: Path, database: str, xhpl: Fake
) -> None:
    xhpl(1.801, 1.799, 1.8)
    done = hpltune("check", "--baseline", "before", "--db", database, "--junit", "check.xml", "--json")
    assert done.returncode == 10, done.stderr
    facts = json.loads(done.stdout)
    assert facts["verdict"] == "slower"
    assert facts["probability_slower"] > 0.95
    assert facts["change_percent"] == pytest.approx(-10, abs=0.5)
    assert facts["median_change_percent"] == pytest.approx(-10, abs=0.01)
    assert facts["interval_percent"][0] < -10 < facts["interval_percent"][1]
    assert facts["baseline_gflops"] == list(BEFORE)
    assert facts["gflops"] == [1.801, 1.799, 1.8]
    case = junit_case(home / "check.xml")
    failure = present(case.find("failure"))
    assert failure.get("message", "").startswith("Slower: the machine lost 10.0 % of its rate, and with a")


@pytest.mark.usefixtures("mpirun")
def test_one_run_that_cannot_tell_says_how_many_would_and_ends_with_12(
    hpltune: Run, home: Path, database: str, xhpl: Fake
) -> None:
    xhpl(1.97)
    done = hpltune("check", "--baseline", "before", "--db", database, "--junit", "check.xml", "--runs", "1")
    assert done.returncode == 12, done.stdout + done.stderr
    told = " ".join(done.stdout.split())
    assert "Cannot tell: the machine is slower by more than 2 % with a probability of" in told
    assert "more run would tell: check again with --runs 2" in told
    assert junit_case(home / "check.xml").find("skipped") is not None


@pytest.mark.usefixtures("mpirun", "quiet")
@pytest.mark.parametrize("now", [(1.5, 1.2, 1.6), (2.001, 1.7, 2.0)])
def test_the_change_that_is_told_is_that_of_the_medians_beside_it_and_the_estimate_is_called_one(
    database: str, xhpl: Fake, now: tuple[float, ...]
) -> None:
    xhpl(*now)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    told = " ".join(part.text for part in result.report().parts if isinstance(part, Sentence))
    changed = 100 * (sorted(now)[1] / 2.0 - 1)
    assert result.change is not None
    assert f"The median changed by {changed:+.1f} %. Estimated from all runs, " in told
    assert f"counting little, it is {result.change.change_percent:+.1f} % (95 % interval: " in told
    lost = f"Slower: the machine lost {-changed:.1f} % of its rate"
    assert (lost in told) == (result.verdict is CheckVerdict.SLOWER)


@pytest.mark.usefixtures("mpirun")
def test_a_loss_that_is_sure_but_may_be_one_of_the_occasion_is_slower_today(database: str, xhpl: Fake) -> None:
    xhpl(1.901, 1.899, 1.9)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    assert result.verdict is CheckVerdict.SLOWER_TODAY
    assert "Slower today: the machine lost 5.0 % of its rate, with a probability of more than 99.9 % more than 2 %" in (
        result.sentence
    )
    assert "More runs now would not tell whether it is more than the occasion" in result.sentence
    assert "9.4 % apart (assuming that occasions differ by 2.0 % (standard deviation), as usual)" in result.sentence


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize(
    ("fail_on", "code", "problem"),
    [((), 11, "skipped"), (("slower", "slower-today"), 11, "failure"), (("slower",), 0, "skipped")],
)
def test_what_is_slower_today_fails_where_that_was_asked_for(
    hpltune: Run, home: Path, database: str, xhpl: Fake, fail_on: tuple[str, ...], code: int, problem: str
) -> None:
    xhpl(1.901, 1.899, 1.9)
    words = [word for verdict in fail_on for word in ("--fail-on", verdict)]
    done = hpltune("check", "--baseline", "before", "--db", database, "--junit", "check.xml", *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Slower today: the machine lost 5.0 % of its rate" in " ".join(done.stdout.split())
    assert junit_case(home / "check.xml").find(problem) is not None


@pytest.mark.usefixtures("mpirun")
def test_a_loss_of_runs_of_which_nothing_is_known_is_at_most_slower_today(database: str, xhpl: Fake) -> None:
    xhpl(1.5, 1.501, 1.499)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    assert result.verdict is CheckVerdict.SLOWER_TODAY
    assert "if nothing disturbed its runs, which is not known." in result.sentence


@pytest.mark.usefixtures("mpirun")
def test_of_runs_of_which_nothing_is_known_on_a_busy_machine_nothing_is_told(database: str, xhpl: Fake) -> None:
    xhpl(1.5, 1.501, 1.499)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    busy = StudyNotes(cautions=(ToldCaution("the machine was busy", begun().started_at, OTHERS),))
    study = replace(result.measured.study, notes=busy)
    result = replace(result, measured=replace(result.measured, study=study))
    assert result.verdict is CheckVerdict.CANNOT_TELL
    assert result.sentence.startswith("Cannot tell: other programs were busy, and whether they disturbed the runs")


@pytest.mark.usefixtures("mpirun")
def test_of_runs_that_were_all_disturbed_no_interval_is_told(
    database: str, xhpl: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Disturbance((Reason(Cause.OTHERS, "others took 1 of 2 cores for 2 of 2 s"),), 0.5)
    monkeypatch.setattr("results.record.judge_run", lambda *_, **__: (Conditions.DISTURBED, busy))
    xhpl(1.5, 1.501, 1.499)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    assert result.verdict is CheckVerdict.CANNOT_TELL
    report = result.report()
    told = " ".join(part.text for part in report.parts if isinstance(part, Sentence))
    assert "Before: 2.00 GFLOPS, the median of 3 runs, all disturbed (before#1). Now: 1.50 GFLOPS" in told
    assert "The median changed by -25.0 %." in told
    assert "interval" not in told
    assert isinstance(report.facts, dict)
    assert report.facts["interval_percent"] is None


def add_reference(db: str) -> None:
    """Store a study of another configuration, measured on the occasion of "before"."""
    with Store.open(db) as store:
        before = store.study("before")
        store.create_study(a_study("fixed", options=before.options, host=before.host))
        measure(store, "fixed", HplParams(1000, 50, 1, 1), 4.0, 4.01, 3.99)
        add_facts(store, "before", {"cpu_model": None})
        add_facts(store, "fixed", {"cpu_model": None})


@pytest.mark.usefixtures("mpirun", "quiet")
@pytest.mark.parametrize(
    ("now", "reference", "verdict"),
    [(1.9, 3.8, CheckVerdict.SLOWER_TODAY), (1.9, 4.0, CheckVerdict.SLOWER), (2.0, 4.0, CheckVerdict.NOT_SLOWER)],
)
def test_a_reference_in_turn_tells_the_day_of_the_machine_from_the_configuration(
    home: Path, database: str, now: float, reference: float, verdict: CheckVerdict
) -> None:
    add_reference(database)
    replaying(home, {"when": {"NB": 100}, "gflops": now}, {"when": {"NB": 50}, "gflops": reference}, spread=0.002)
    result = checked(CheckRequest(CheckAsk("before", reference="fixed", runs=4), db=database))
    assert result.verdict is verdict, result.sentence
    assert result.control is not None
    told = " ".join(part.text for part in result.report().parts if isinstance(part, Sentence))
    ends = {
        CheckVerdict.SLOWER: "the configuration became slower, not only the machine.",
        CheckVerdict.SLOWER_TODAY: "the machine is slower, not only this.",
        CheckVerdict.NOT_SLOWER: "In parts of the rate of the reference fixed the change is ",
    }
    assert ends[verdict] in told
    with Store.open(database) as store:
        runs = store.records(result.measured.study.name)
        assert [run.params["side"] for run in runs] == ["before", "fixed", "fixed", "before"] * 2
        assert store.study(result.measured.study.name).notes.like == "before#1"


@pytest.mark.usefixtures("mpirun", "quiet")
def test_a_check_goes_on_without_a_reference_that_fails_and_its_study_tells_the_same(home: Path, database: str) -> None:
    add_reference(database)
    fails = {"when": {"NB": 50}, "gflops": 4.0, "passed": False, "residual": 99.0}
    replaying(home, {"when": {"NB": 100}, "gflops": 2.0}, fails, spread=0.002)
    ask = CheckAsk("before", reference="fixed", runs=4)
    result = checked(CheckRequest(ask, db=database))
    with Store.open(database) as store:
        runs = store.records(result.measured.study.name)
        assert [run.params["side"] for run in runs] == ["before", "fixed", "fixed", "before", "before", "before"]
        assert check_of_study(store, ask, result.measured.study.name).sentence == result.sentence


STEADY = (2.0, 2.001, 1.999, 2.002, 1.998, 2.0, 2.001, 1.999)
"""Rates of earlier checks."""


def add_checks(db: str, apart: timedelta) -> None:
    """Store checks of "before", each so much later than the one before it."""
    with Store.open(db) as store:
        add_facts(store, "before", {"cpu_model": None})
        for place, rate in enumerate(STEADY, start=1):
            name, at = f"run-before-{place}", begun().started_at + place * apart
            store.create_study(a_study(name, space_text="", notes=StudyNotes(like="before#1")))
            measure(store, name, HPL, rate, rate + 0.001, rate - 0.001, started_at=at)
            store.end_study(name, "complete")


@pytest.mark.usefixtures("mpirun", "quiet")
def test_earlier_checks_of_a_steady_machine_make_the_same_loss_a_verdict(database: str, xhpl: Fake) -> None:
    add_checks(database, timedelta(days=1))
    xhpl(1.901, 1.899, 1.9)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    assert result.baseline.occasions.seen == 8
    assert result.verdict is CheckVerdict.SLOWER


@pytest.mark.usefixtures("mpirun")
def test_earlier_checks_within_minutes_are_one_occasion_and_make_no_verdict(database: str, xhpl: Fake) -> None:
    add_checks(database, timedelta(minutes=1))
    xhpl(1.901, 1.899, 1.9)
    result = checked(CheckRequest(CheckAsk("before"), db=database))
    assert result.baseline.occasions.seen == 0
    assert result.verdict is CheckVerdict.SLOWER_TODAY
    assert "Checks on other days tell how much they are." in result.sentence


@pytest.mark.usefixtures("mpirun")
def test_a_check_that_really_ran_is_an_occasion_of_its_day(database: str, xhpl: Fake) -> None:
    with Store.open(database) as store:
        add_facts(store, "before", {"cpu_model": None})
    for _ in range(2):
        xhpl(2.0, 2.001, 1.999)
        checked(CheckRequest(CheckAsk("before"), db=database))
    assert checked(CheckRequest(CheckAsk("before"), db=database)).baseline.occasions.seen == 1, "long ago, and now"


@pytest.mark.usefixtures("mpirun")
def test_runs_with_a_wrong_residual_are_an_error_with_their_reason(
    hpltune: Run, home: Path, database: str, xhpl: Fake
) -> None:
    xhpl(2.0, residual="FAILED")
    done = hpltune("check", "--baseline", "before", "--db", database, "--junit", "check.xml", "--runs", "1")
    assert done.returncode == 1
    assert "Failed: 1 run of 1 gave no valid result." in done.stdout
    assert "Trial 1 does not count: correctness" in done.stdout
    assert junit_case(home / "check.xml").find("error") is not None


@pytest.mark.usefixtures("mpirun")
def test_a_check_that_is_stopped_has_no_answer(database: str, xhpl: Fake) -> None:
    xhpl(1.8)
    stop = StopRequest()

    def watch(event: Event) -> None:
        if isinstance(event, TrialEnded):
            stop.ask()

    result = check(CheckRequest(CheckAsk("before"), db=database), watch, stop)
    assert result.verdict is CheckVerdict.STOPPED
    assert result.gflops == (1.8,)


def test_a_program_that_is_gone_is_an_error_in_junits_file_too(home: Path, database: str) -> None:
    with pytest.raises(TunerError, match="there is no such file"):
        checked(CheckRequest(CheckAsk("before"), junit=home / "check.xml", db=database))
    assert "there is no such file" in present(junit_case(home / "check.xml").find("error")).get("message", "")


ROWS = """T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4        4000   128     1     2               1.00             4.2691e+01
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.10000000e-03 ...... PASSED
"""


def test_an_imported_extract_is_no_baseline_and_what_it_does_not_tell_is_named(home: Path) -> None:
    (home / "rows.out").write_text(ROWS)
    db = str(home / "study.db")
    with Store.open(db) as store:
        import_outputs(store, [home / "rows.out"], name="rows")
    with pytest.raises(UsageError) as told:
        check(CheckRequest(CheckAsk("rows"), db=db), lambda _: None, StopRequest())
    said = "the output of rows#1 does not tell SWAP, L1, U, EQUIL and alignment: import it beside its HPL.dat"
    assert said in str(told.value)


@pytest.mark.usefixtures("real_hpl")
def test_an_imported_output_is_measured_again_and_what_it_does_not_tell_is_said(home: Path) -> None:
    printed = replace(HplDat.of(HPL))
    (home / "runs").mkdir()
    (home / "runs/HPL.dat").write_text(render(printed))
    row = "WR11C2R4 1000 100 1 1 0.10 6.6817e+00\n"
    (home / "runs/hpl.out").write_text(ROWS.splitlines()[0] + "\n" + row + ROWS.splitlines()[2] + "\n")
    db = str(home / "study.db")
    with Store.open(db) as store:
        import_outputs(store, [home / "runs"], name="old")
    heard: list[Event] = []
    result = check(CheckRequest(CheckAsk("old", runs=1), db=db), heard.append, StopRequest())
    assert result.measured.records[0].ranked
    said = "\n".join(event.text for event in heard if isinstance(event, Notice))
    assert (
        "⟦like⟧ old#1 was not run by hpltune. Its output does not tell the BLAS, kernel and number of threads" in said
    )
