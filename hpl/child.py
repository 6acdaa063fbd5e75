"""Runs a program and waits for it: Ctrl-C reaches only hpltune, and the program never outlives the wait."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

GRACE_S = 2.0
"""Time that a compiler has after TERM to remove its temporary files."""
MOST_TRIES = 5
"""How often a program is started that Ctrl-C ends."""


def run_child(
    argv: Sequence[str], environment: Mapping[str, str], *, given: str = "", timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output.

    A Ctrl-C may reach it before it has a session of its own, and end it: then it is started again, for whoever handles
    Ctrl-C here decides whether that ends anything.

    Args:
        given: the text for its standard input.

    Raises:
        OSError: the program cannot be started.
        subprocess.TimeoutExpired: the program took longer and was ended.
    """
    for _ in range(MOST_TRIES):
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
        if child.returncode != -signal.SIGINT:
            break
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)


def _end(child: subprocess.Popen[str]) -> None:
    """End a program and all its children, which hold its output open."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
