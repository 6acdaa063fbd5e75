"""Runs a program on a node that ends when nobody waits for it any more: a stop, a lost connection, a killed hpltune."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from ..errors import UnreachableError
from ..hosts.transport import CommandResult, Transport, answer, marked

LOOK_S = 0.2
"""Seconds between two looks at whether somebody wants to stop."""
END_S = 10.0
"""Seconds that a node has to end a program that nobody waits for."""
SPARE_S = 20.0
"""Seconds after its time limit at which a node that does not end a program itself is given up."""
TIMED_OUT = frozenset({124, 137})
"""Exit codes of `timeout`, where the program ended and where it had to be killed."""
_TIED = r"""
cd "$1" || exit 125
limit=$2; shift 2
exec 3<&0
timeout -k 5 "$limit" env "$@" </dev/null 3<&- & program=$!
{ while read -r _ <&3; do :; done; kill "$program"; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait "$program"; code=$?
kill "$watch" 2>/dev/null
kill -s KILL -- "-$program" 2>/dev/null
exit "$code"
"""
"""The input ends when this process, or the connection, does; `timeout` passes the signal on to all that it started.

If the signal comes when `timeout` has started the program but does not know its number yet, only `timeout` ends. So
what is left of its process group is killed at the end.
"""


def run_tied(
    reach: Transport, node: str, folder: str, command: Sequence[str], limit_s: float, stop: Callable[[], bool]
) -> CommandResult | None:
    """Run a program in a folder of a node and wait for it; the node itself ends it after the time limit.

    Args:
        command: may begin with variables, as "A=b".
        stop: whether somebody wants to end it now.

    Returns:
        What it printed, with a code of TIMED_OUT after the time limit; None if it was stopped.

    Raises:
        UnreachableError: the node does not answer, or was lost; the sentence says why.
        InvalidJobError: the node is no host name.
    """
    argv = marked(reach, node, ("sh", "-c", _TIED, "sh", folder, f"{limit_s:.0f}", *command))
    taken, writing = os.pipe()
    held = os.fdopen(writing, "wb", buffering=0)
    try:
        process = subprocess.Popen(
            argv,
            stdin=taken,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        held.close()
        raise UnreachableError(f"node {node}: cannot start {argv[0]}: {error.strerror}", node) from error
    finally:
        os.close(taken)
    with process, held:  # held closes first: only then does the process end
        return _waited(reach, node, process, limit_s, stop, held)


def _waited(
    reach: Transport,
    node: str,
    process: "subprocess.Popen[str]",
    limit_s: float,
    stop: Callable[[], bool],
    held: IO[bytes],
) -> CommandResult | None:
    """Wait until the program ends, is stopped, or cannot be waited for any more.

    Args:
        held: the writing end of its input, whose closing ends it.
    """
    deadline_s = time.monotonic() + limit_s + SPARE_S
    while True:
        try:
            printed, errors = process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            stopped = stop()
            if not stopped and time.monotonic() < deadline_s:
                continue
        else:
            return answer(reach, node, CommandResult(process.returncode, printed, errors))
        held.close()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=END_S)
        process.kill()
        if stopped:
            return None
        raise UnreachableError(f"node {node}: no answer within {limit_s + SPARE_S:.0f} s", node)
