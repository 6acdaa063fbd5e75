"""Programs that are waited for: Ctrl-C in a terminal is hpltune's alone, and none of them outlives the waiting."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

GRACE_S = 2.0
"""What a compiler gets after TERM to remove its temporary files."""


def run_child(
    argv: Sequence[str], environment: Mapping[str, str], *, given: str = "", timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it says.

    Args:
        given: its standard input.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took longer, and was ended.
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
            said, complaints = child.communicate(given, timeout_s)
        except BaseException:
            _end(child)
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, said, complaints)


def _end(child: subprocess.Popen[str]) -> None:
    """End a program and all that it started, which hold its output open."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
