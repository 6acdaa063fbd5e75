"""What hpltune does where it cannot write: a full disk, a terminal that was closed, a stream that nobody opened."""

import errno
import json
import os
import pty
import subprocess
from io import TextIOWrapper
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run, program
from in_process import run_in_process
from record_builders import a_study, begun, finished
from rich.console import Console
from waiting import PATIENCE_S, until

from hpl.build.simgrid import SimGrid
from results.store.store import Store
from tuner.console import display
from tuner.events import Notice, TrialEnded, TrialStarted

GOES_ON = "`hpltune tune --resume --study full` goes on once there is room\n"
FULL = Path("/dev/full")
ONE = ("--space", "quick", "--set", "N=1000", "--set", "NB=64", "--confirm", "0", "--trials", "1")


def fill(folder: Path) -> Path:
    """Have each write of a run's HPL.dat fail as on a full disk."""
    folder.mkdir(parents=True)
    (folder / "HPL.dat").symlink_to(FULL)
    return folder


def states(hpltune: Run, study: str) -> list[str]:
    return [trial["state"] for trial in json.loads(hpltune("show", study, "--json").stdout)]


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_that_cannot_be_written_is_dropped_but_a_result_is_not(*, terminal: bool) -> None:
    with TextIOWrapper(FULL.open("wb", buffering=0), write_through=True) as stream:
        console = Console(file=stream, force_terminal=terminal, width=120)
        with display(console) as listener:
            listener(Notice("This is lost." * 1000))
            listener(TrialStarted(1, "so is this", None))
            listener(TrialEnded(finished(1)))
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            console.print("This would be missed.")


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.usefixtures("mpirun")
def test_a_trial_that_ran_when_its_terminal_was_closed_is_cancelled(hpltune: Run, home: Path) -> None:
    hangs = program(home / "xhpl", f"#!/bin/sh\ntouch {home}/started\nexec sleep 1000\n")
    keyboard, screen = pty.openpty()
    line = ["setsid", "--ctty", str(HPLTUNE), "tune", *ONE, "--xhpl", str(hangs), "--study", "closed"]
    process = subprocess.Popen(line, stdin=screen, stdout=screen, stderr=screen)
    os.close(screen)
    until((home / "started").exists)
    os.close(keyboard)
    process.wait(timeout=PATIENCE_S)
    assert set(states(hpltune, "closed")) == {"cancelled"}


@pytest.mark.usefixtures("prints_hpl")
def test_a_full_disk_ends_the_session_and_not_a_configuration(hpltune: Run, home: Path) -> None:
    folder = fill(home / "data/runs/full/00002")
    said = hpltune.refused("tune", *ONE, "--xhpl", "xhpl", "--study", "full", code=1)
    assert said == f"hpltune: no run can be started in {folder}: No space left on device; {GOES_ON}"
    assert states(hpltune, "full") == ["complete", "cancelled"]
    assert json.loads(hpltune("show", "--json").stdout)[0]["state"] == "interrupted"
    assert hpltune("tune", "--resume", "--study", "full", "--wait-for-quiet", "1s").returncode == 0
    assert states(hpltune, "full")[2:].count("complete") > 0


@pytest.mark.usefixtures("prints_hpl")
def test_a_file_that_cannot_be_run_for_want_of_space_has_not_failed(hpltune: Run, home: Path) -> None:
    fill(home / "data/runs/run-HPL-1/00001")
    hpltune("dat", "HPL.dat", "--N", "1000")
    said = hpltune.refused("run", "HPL.dat", "--xhpl", "xhpl", code=1)
    assert said.endswith("run-HPL-1/00001: No space left on device\n")
    assert states(hpltune, "run-HPL-1") == ["cancelled"]
    assert json.loads(hpltune("show", "--json").stdout)[0]["state"] == "interrupted"


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_a_simulation_that_cannot_be_written_has_not_failed(hpltune: Run, home: Path, simgrid: SimGrid) -> None:
    del simgrid
    folder = fill(home / "data/runs/full/00002")
    tune = ("tune", "--cluster", "kronos", "--set", "N=1000", "--set", "NB=64,128", "--trials", "2", "--jobs", "1")
    assert hpltune.refused(*tune, "--study", "full", code=1).endswith(f"{folder}: No space left on device; {GOES_ON}")
    assert states(hpltune, "full") == ["complete", "cancelled"]


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        ("show", ">&-"), ("show study --json", "2>&-"), ("export csv study", "2>&-"), ("--version", ">&- 2>&-"),
        ("show study --json", "<&- >&- 2>&-"), ("export csv study", "<&- >&- 2>&-"),
    ],
)  # fmt: skip
def test_what_is_printed_to_a_closed_stream_goes_nowhere(home: Path, closed: str, arguments: str) -> None:
    (home / "data").mkdir()
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study())
    line = f"{HPLTUNE} {arguments} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (closed == "2>&-")


@pytest.fixture
def buffered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output as users have it: written when much has come together, or at the end."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study())


@pytest.mark.process
@pytest.mark.usefixtures("buffered")
@pytest.mark.parametrize("arguments", ["show", "show --json", "export csv study"])
def test_a_pipe_that_was_closed_is_left_in_silence(arguments: str) -> None:
    line = f"(sleep 1; {HPLTUNE} {arguments}; echo $? >&2) | true"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "141\n")


@pytest.mark.process
@pytest.mark.usefixtures("buffered")
@pytest.mark.parametrize("arguments", ["show", "show --json", "--version", "--help"])
def test_a_result_that_cannot_be_written_is_said_in_one_sentence(arguments: str) -> None:
    with FULL.open("w") as stream:
        done = subprocess.run(
            [str(HPLTUNE), *arguments.split()], stdout=stream, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "hpltune: the system: No space left on device\n")


@pytest.fixture
def umlauts(home: Path) -> str:
    """A study whose name has letters that ASCII lacks."""
    name = "größer±1"
    with Store.open(home / "data" / "hpltune.db") as store:
        store.create_study(a_study(name))
        for rate in (70.0, 71.0):
            store.finish(finished(store.begin(begun(name)), rate, study=name))
    return name


def test_a_report_is_whole_where_the_terminal_has_ascii_only(home: Path, umlauts: str) -> None:
    for command in (("show",), ("show", umlauts), ("explain", "--help")):
        ran = run_in_process(command, home, charset="ascii")
        assert (ran.returncode, ran.stderr) == (0, ""), command
        assert ran.stdout.isascii()


@pytest.mark.process
@pytest.mark.usefixtures("umlauts")
def test_letters_that_the_locale_lacks_are_escaped(hpltune_process: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ran = hpltune_process("best")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Best of study gr\\xf6\\xdfer+-1" in ran.stdout
