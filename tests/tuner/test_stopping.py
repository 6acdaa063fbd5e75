"""A program that is told to end while it prepares: it says so, its exit code tells the signal, and nothing is left."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run, program
from waiting import PATIENCE_S, until

CTRL_C = b"\x03"


class Terminal:
    """hpltune in a terminal of its own, whose processes all get what its keys send."""

    def __init__(self, *arguments: str) -> None:
        self._keyboard, screen = pty.openpty()
        line = ["setsid", "--ctty", str(HPLTUNE), *arguments]
        self.process = subprocess.Popen(line, stdin=screen, stdout=screen, stderr=screen)
        os.close(screen)

    def press_ctrl_c(self) -> None:
        os.write(self._keyboard, CTRL_C)

    def rest(self) -> str:
        """All it wrote until it ended."""
        said = b""
        while True:
            try:
                said += os.read(self._keyboard, 4096)
            except OSError:
                break
        self.process.wait()
        os.close(self._keyboard)
        return said.decode()


@pytest.fixture
def fresh(home: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache where nothing was built or timed, and a folder for temporary files; neither may hold anything later."""
    cache, temporary = home / "cache", home / "temporary"
    cache.mkdir()
    temporary.mkdir()
    if (shared_cache / "source").exists():
        shutil.copytree(shared_cache / "source", cache / "source")
    monkeypatch.setenv("HPLTUNE_CACHE", str(cache))
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield home
    until(lambda: not children(home))
    assert not [*temporary.iterdir(), *cache.rglob("*.tmp"), *cache.rglob(".linking-*"), *cache.rglob(".unpacking-*")]


def children(home: Path) -> list[str]:
    """Command lines of the processes that were started for this test."""
    needle, found = f"HPLTUNE_DATA={home}/data".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def runs(home: Path, word: str) -> Callable[[], bool]:
    return lambda: any(word in line for line in children(home))


PREPARING = [
    pytest.param(("build", "--blas", "openblas"), "/HPL_", id="compiling"),
    pytest.param(("doctor",), "probe_child", id="timing dgemm"),
    pytest.param(("tune", "--space", "quick", "--blas", "openblas"), "probe_child", id="timing for a study"),
]


@pytest.mark.process
@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize(("arguments", "child"), PREPARING)
def test_ctrl_c_in_a_terminal_ends_what_prepares(fresh: Path, arguments: tuple[str, ...], child: str) -> None:
    terminal = Terminal(*arguments)
    until(runs(fresh, child))
    terminal.press_ctrl_c()
    said = terminal.rest()
    assert terminal.process.returncode == 130, said
    assert said.endswith("hpltune: stopped by Ctrl-C\r\n")


@pytest.mark.process
@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize(("arguments", "child"), PREPARING)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_prepares(
    fresh: Path, arguments: tuple[str, ...], child: str, number: signal.Signals
) -> None:
    process = subprocess.Popen([str(HPLTUNE), *arguments], stderr=subprocess.PIPE, text=True)
    until(runs(fresh, child))
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, said
    assert said.endswith(f"hpltune: stopped by {number.name}\n")


@pytest.mark.process
@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("arguments", [("tune", "--space", "quick", "--set", "N=1000"), ("run", "HPL.dat")])
def test_a_study_that_compiles_is_ended_at_once_and_leaves_no_study(
    fresh: Path, hpltune: Run, arguments: tuple[str, ...]
) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000", "--blas", "openblas")
    terminal = Terminal(*arguments, "--blas", "openblas")
    until(runs(fresh, "/HPL_"))
    terminal.press_ctrl_c()
    said = terminal.rest()
    assert terminal.process.returncode == 130, said
    assert said.endswith("hpltune: stopped by Ctrl-C\r\n")
    assert json.loads(hpltune("show", "--json").stdout) == []


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.usefixtures("mpirun")
def test_a_hangup_that_was_ignored_from_the_beginning_stays_ignored(hpltune: Run, home: Path) -> None:
    waiting = program(home / "xhpl", f"#!/bin/sh\ntouch {home}/started\nuntil [ -e {home}/go ]; do sleep 0.1; done\n")
    hpltune("dat", "HPL.dat", "--N", "1000")
    line = ["nohup", str(HPLTUNE), "run", "HPL.dat", "--xhpl", str(waiting)]
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until((home / "started").exists)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    (home / "go").touch()
    said = "".join(process.communicate(timeout=PATIENCE_S))
    assert process.returncode == 1, said
    assert "Stopping" not in said
