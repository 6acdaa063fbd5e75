"""Runs a program and waits for it: Ctrl-C reaches only hpltune, and the program never outlives the wait."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

GRACE_S = 2.0
"""Time that a compiler has after TERM to remove its temporary files."""


def run_child(
    argv: Sequence[str], environment: Mapping[str, str], *, given: str = "", timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output.

    Args:
        given: the text for its standard input.

    Raises:
        OSError: the program cannot be started.
        subprocess.TimeoutExpired: the program took longer and was ended.
    """
    with subprocess.Popen(
        argv,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            stdout, stderr = child.communicate(given, timeout_s)
        except BaseException:
            _end(child)
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)


def _end(child: subprocess.Popen[str]) -> None:
    """End a program and all its children, which hold its output open."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
