"""A setting is one line of the registry: then a study on this machine alone searches, sets and puts it back."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import made_up_settings
import pytest
from as_user import Run, program
from made_up_settings import MEANING, PLACE, STEP, VARIABLE
from replayed import replaying
from settings_builders import an_original
from waiting import PATIENCE_S, until

from results.errors import UnknownStudyError
from results.store.store import Store
from runners.settings import registry
from runners.settings.journal import Original, identity_in
from tuner.settings.changed_hosts import StoreJournal
from tuner.settings.dimensions import meanings

pytestmark = [pytest.mark.xdist_group("settings of this machine"), pytest.mark.usefixtures("mpirun")]
SPACE = """[parameters]
N = 1000
NB = 64
layout = "1x1"
grid = "1x1"
sys.test_value = [1, 2, 3]
"""
ASKED = ("tune", "--xhpl", "xhpl", "--space", "mine.toml", "--confirm", "0", "--study", "mine")
TUNE = (*ASKED, "--engine", "grid")
PROGRAM = f"""#!/bin/sh
echo "$(cat {{home}}/{PLACE}) ${{{{{VARIABLE}}}}} ${{{{{STEP}}}}}" >>{{home}}/seen
exec {{home}}/prints
"""
"""Tells under which settings it runs."""
STARTED = """import sys
sys.path.insert(0, {contracts!r})
from pathlib import Path
import made_up_settings
from tuner.cli import main
made_up_settings.register(Path({home!r}))
sys.argv = ["hpltune", *sys.argv[1:]]
main()
"""
"""The installed program, with the settings in its registry."""


@pytest.fixture(autouse=True)
def made_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds settings to the registry, one line each."""
    monkeypatch.setattr(registry, "SETTINGS", registry.SETTINGS)
    made_up_settings.register(home)
    (home / PLACE).write_text("7\n")
    (home / "mine.toml").write_text(SPACE)


@pytest.fixture
def seen(home: Path) -> Iterator[Callable[[], list[str]]]:
    """Tells under which settings each run was, and that afterwards everything is as it was."""
    replaying(home, name="prints")
    program(home / "xhpl", PROGRAM.format(home=home))
    yield lambda: (home / "seen").read_text().splitlines()
    assert (home / PLACE).read_text() == "7\n"
    with Store.open(home / "data/hpltune.db") as store:
        assert store.network.originals() == []


def searched(hpltune: Run) -> list[dict[str, object]]:
    trials = hpltune.told("show", "mine")
    return [trial["params"] for trial in trials if trial["kind"] == "search" and trial["state"] == "complete"]


def test_each_value_holds_while_it_is_measured_and_the_first_one_is_put_back(
    hpltune: Run, seen: Callable[[], list[str]]
) -> None:
    hpltune.well(*TUNE)
    assert [params["sys.test_value"] for params in searched(hpltune)] == [1, 2, 3]
    assert "1, 2, 3" in ", ".join(line.split()[0] for line in seen())
    assert "sys.test_value" in hpltune("best", "mine").stdout


def test_what_is_only_in_the_launch_reaches_the_ranks(hpltune: Run, home: Path, seen: Callable[[], list[str]]) -> None:
    (home / "mine.toml").write_text(
        SPACE.replace("[1, 2, 3]", '4\nsys.test_pace = ["slow", "fast"]\nsys.test_step = [3, 5]')
    )
    hpltune.well(*ASKED, "--trials", "4")
    assert {line for line in seen() if line.startswith("4")} == {"4 slow 3", "4 slow 5", "4 fast 3", "4 fast 5"}


def test_a_run_like_a_trial_has_its_settings(hpltune: Run, seen: Callable[[], list[str]]) -> None:
    hpltune.well(*TUNE, "--set", "sys.test_value=5", "--set", "sys.test_pace=fast")
    assert hpltune("export", "dat", "mine", "-o", "best.dat").returncode == 0
    before = len(seen())
    hpltune.well("run", "best.dat", "--like", "mine")
    assert {line.rsplit(" ", 1)[0] for line in seen()[before:]} == {"5 fast"}


def test_studies_in_turn_change_one_host_together(hpltune: Run, home: Path, seen: Callable[[], list[str]]) -> None:
    replaying(home, name="prints", gflops=60.0)
    program(home / "xhpl2", PROGRAM.format(home=home))
    other = ["xhpl2" if word == "xhpl" else "other" if word == "mine" else word for word in TUNE]
    for arguments, value in ((TUNE, "5"), (other, "6")):
        hpltune.well(*arguments, "--set", f"sys.test_value={value}")
    before = len(seen())
    turns = hpltune.well("compare", "mine", "other", "--interleaved", "--rounds", "2")
    assert "somebody else" not in turns.stdout + turns.stderr
    assert [line.split()[0] for line in seen()[before:]] == ["5", "6", "6", "5"]


def test_what_the_host_has_not_is_refused_before_any_run(hpltune: Run, home: Path) -> None:
    replaying(home)
    (home / PLACE).unlink()
    assert "sys.test_value cannot be set: cat: " in hpltune.refused(*TUNE, code=1)
    with Store.open(home / "data/hpltune.db") as store, pytest.raises(UnknownStudyError):
        store.records("mine")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "sys.test_value=0"), "--set sys.test_value = 0: expected a whole number of at least 1, at most 9"),
        (("--set", "sys.tst_value=1"), "sys.tst_value: there is no such setting; did you mean sys.test_value?"),
        (("--set", "sus.test_value=1"), "--set sus.test_value: unknown parameter sus.test_value"),
    ],
)
def test_a_mistake_is_one_sentence(hpltune: Run, home: Path, arguments: tuple[str, ...], sentence: str) -> None:
    replaying(home)
    assert sentence in hpltune.refused(*TUNE, *arguments)


def test_what_tells_of_settings_knows_it(hpltune: Run) -> None:
    shown = json.loads(hpltune("net", "show", "--interface", "lo", "--json").stdout)
    assert [each["value"] for each in shown if each["setting"] == "sys.test_value"] == ["7"]
    assert meanings()["sys.test_value"] == MEANING
    assert "sys.test_value" in hpltune("spaces", "mine.toml").stdout


IDS = {"machine-id": "ab" * 16, "boot_id": "cd" * 16}
HEAD = """#!/bin/sh
case "$3" in {cases}esac
exec {head} "$@"
"""


@pytest.fixture
def kept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Stores an original of a machine by this one's name, whose ids are made up."""
    cases = "".join(f"*/{name}) echo {text}; exit;; " for name, text in IDS.items())
    program(tmp_path / "head", HEAD.format(cases=cases, head=shutil.which("head")))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def keep(machine: str, boot: str) -> None:
        row = replace(an_original(platform.node(), "sys.test_value", "5", ssh=()), machine=machine, boot=boot)
        with Store.open(home / "data/hpltune.db") as store:
            store.network.remember([replace(row, interface="")])

    return keep


def test_what_is_kept_of_another_machine_by_this_name_stays_kept_until_it_is_forgotten(
    hpltune: Run, home: Path, kept: Callable[..., None]
) -> None:
    kept("ef" * 16, "01" * 16)
    assert "still has changed settings" not in hpltune("net", "show", "--interface", "lo").stdout
    for _ in range(2):
        left = hpltune("net", "restore")
        assert left.returncode == 1
        here = platform.node()
        assert f"Not put back: node {here}: another machine answers by that name" in " ".join(left.stdout.split())
        assert f"`hpltune net restore --forget {here}` forgets it; it stays recorded" in " ".join(left.stdout.split())
        assert (home / PLACE).read_text() == "7\n"
    assert hpltune("net", "restore", "--forget", here).stdout == f"Forgotten: {here}: sys.test_value = 5.\n"
    assert "Nothing is to be put back." in hpltune("net", "restore").stdout


def test_what_was_kept_before_this_machine_started_anew_is_forgotten(
    hpltune: Run, home: Path, kept: Callable[..., None]
) -> None:
    machine, _ = identity_in(f"machine {IDS['machine-id']}")
    kept(machine, "ef" * 16)
    done = hpltune.well("net", "restore")
    assert f"{platform.node()} was started anew since hpltune changed it" in done.stdout
    assert (home / PLACE).read_text() == "7\n"
    assert "Nothing is to be put back." in hpltune("net", "restore").stdout
    kept(machine, "cd" * 16)
    assert "still has changed settings" in hpltune("net", "show", "--interface", "lo").stdout
    assert f"Put back on {platform.node()}: sys.test_value = 5." in hpltune("net", "restore").stdout
    assert (home / PLACE).read_text() == "5\n"


def test_a_study_keeps_what_it_finds_where_its_host_was_started_anew(home: Path) -> None:
    before, after = (
        Original("n1", "", "sys.test_value", value, (), "ab" * 16, boot * 16)
        for value, boot in (("7", "01"), ("3", "02"))
    )
    with Store.open(home / "data/hpltune.db") as store:
        journal = StoreJournal(store, None)
        assert journal.remember([before]) == [before]
        assert journal.remember([replace(before, value="9")]) == [before]
        assert journal.remember([after]) == [after]
        journal.forget([after])
        assert store.network.originals() == []


@pytest.mark.process
def test_what_a_killed_study_left_changed_is_put_back_when_it_goes_on(
    hpltune: Run, home: Path, seen: Callable[[], list[str]]
) -> None:
    replaying(home, name="prints", pace=600.0)
    contracts = str(Path(made_up_settings.__file__).parent)
    line = [sys.executable, "-c", STARTED.format(contracts=contracts, home=str(home)), *TUNE]
    with subprocess.Popen(line, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as study:
        until(lambda: (home / PLACE).read_text() == "2\n")
        study.send_signal(signal.SIGKILL)
        study.wait(PATIENCE_S)
    assert (home / PLACE).read_text() == "2\n"
    with Store.open(home / "data/hpltune.db") as store:
        assert [(each.setting, each.value) for each in store.network.originals()] == [("sys.test_value", "7")]
    replaying(home, name="prints")
    done = hpltune.well("tune", "--resume", "--study", "mine")
    assert "sys.test_value = 7" in done.stdout
    assert "Put back on " in done.stdout
    assert [params["sys.test_value"] for params in searched(hpltune)][-1] == 3
    assert "2, 3" in ", ".join(line.split()[0] for line in seen())
