"""Runs hpltune on the first host of a lab, as a user logged in there would."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import waiting_hpltune
from as_user import HPLTUNE, Done, Run
from net_lab import HostsLab
from waiting_hpltune import CommandLine

OnHead = Run
_waiting: dict[str, "subprocess.Popen[str]"] = {}
"""What waits on the first host of each lab, by the name of its network; it ends with the lab or with the tests."""


def on_head(lab: HostsLab, home: Path) -> OnHead:
    """Return what runs the program there with its arguments, in a home folder; one run at a time."""

    def run(*arguments: str) -> Done:
        argv = [str(HPLTUNE), *arguments]
        with TemporaryDirectory() as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            line = CommandLine(argv, str(home), dict(os.environ), str(stdout), str(stderr))
            code = _answer(lab, line)
            return subprocess.CompletedProcess(argv, code, stdout.read_text(), stderr.read_text())

    return Run(run)


def _answer(lab: HostsLab, line: CommandLine) -> int:
    """Have what waits run a command line, and give its exit code; where that is interrupted, both are ended."""
    waiting = _on(lab)
    assert waiting.stdin is not None
    assert waiting.stdout is not None
    try:
        print(line.to_json(), file=waiting.stdin, flush=True)
        return int(waiting.stdout.readline())
    except BaseException:
        os.killpg(waiting.pid, signal.SIGTERM)
        waiting.wait()
        raise


def _on(lab: HostsLab) -> "subprocess.Popen[str]":
    """What waits on the first host, started where nothing does."""
    network = lab.namespace("h1")
    known = _waiting.get(network)
    if known is not None and known.poll() is not None:
        known.communicate()
        known = None
    if known is None:
        known = _waiting[network] = subprocess.Popen(
            [*lab.enter("h1"), sys.executable, waiting_hpltune.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    return known
