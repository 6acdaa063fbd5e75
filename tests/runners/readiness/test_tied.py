"""Programs on real nodes that end when nobody waits for them any more."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from as_user import program
from net_lab import HostsLab
from present import present

from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult
from runners.hosts.transport import Local, Ssh, Transport
from runners.readiness.tied import run_all_tied

PATIENCE_S = 30.0


def run_tied(
    reach: Transport, node: str, folder: str, command: Sequence[str], limit_s: float, stop: Callable[[], bool]
) -> CommandResult | None:
    """What a program on one node said; None where it was stopped."""
    said = run_all_tied(reach, {node: folder}, {node: command}, limit_s, stop).get(node)
    assert not isinstance(said, UnreachableError), said
    return said


def runs(lab: HostsLab, word: str) -> bool:
    """Whether a program runs on h2."""
    return any(word in line for line in lab.processes("h2"))


def eventually(lab: HostsLab, word: str, *, there: bool) -> bool:
    """Wait until a program runs on h2, or does not."""
    deadline_s = time.monotonic() + PATIENCE_S
    while runs(lab, word) != there and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return runs(lab, word) == there


def test_what_a_program_prints_and_its_code_come_back(lab: HostsLab, tmp_path: Path) -> None:
    reach = Ssh((*lab.enter("h1"), *lab.ssh))
    said = present(
        run_tied(
            reach,
            "h2",
            str(tmp_path),
            ("A=b c", "sh", "-c", 'pwd; echo "$A"; echo bad >&2; exit 3'),
            PATIENCE_S,
            lambda: False,
        )
    )
    assert (said.exit_code, said.stdout, said.stderr) == (3, f"{tmp_path}\nb c\n", "bad\n")


def test_a_stop_ends_all_that_a_program_started_on_a_node(lab: HostsLab, tmp_path: Path) -> None:
    reach = Ssh((*lab.enter("h1"), *lab.ssh))
    said = run_tied(
        reach, "h2", str(tmp_path), ("sh", "-c", "sleep 8765 & sleep 8764; :"), 600.0, lambda: runs(lab, "sleep 8764")
    )
    assert said is None
    assert eventually(lab, "sleep 876", there=False)


def test_a_program_ends_on_its_node_if_hpltune_is_killed(lab: HostsLab, tmp_path: Path) -> None:
    reach = Ssh((*lab.enter("h1"), *lab.ssh))
    code = (
        "from runners.hosts.transport import Ssh; from runners.readiness.tied import run_all_tied; "
        f"run_all_tied({reach!r}, {{'h2': {str(tmp_path)!r}}}, {{'h2': ('sleep', '8766')}}, 600.0, lambda: False)"
    )
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as ours:
        started = eventually(lab, "sleep 8766", there=True)
        ours.send_signal(signal.SIGKILL)
    assert started
    assert eventually(lab, "sleep 8766", there=False)


def test_a_node_ends_a_program_that_hangs(tmp_path: Path) -> None:
    assert present(run_tied(Local(), "here", str(tmp_path), ("sleep", "600"), 1.0, lambda: False)).exit_code == 124


def test_a_program_ends_though_timeout_is_killed_before_it_knows_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `timeout` that passes no signal on, as the real one in the moment after it has started its program."""
    forgetful = "import os, subprocess, sys\nos.setpgid(0, 0)\nsubprocess.run(sys.argv[4:])\n"
    program(tmp_path / "timeout", f"#!{sys.executable}\n{forgetful}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    note = tmp_path / "number"
    command = ("sh", "-c", 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 600', str(note))
    assert run_tied(Local(), "here", str(tmp_path), command, 600.0, note.exists) is None
    number = int(note.read_text())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(number).wait(PATIENCE_S)
    assert not psutil.pid_exists(number)
