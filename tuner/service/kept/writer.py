"""Has something written by a process of its own, which may take many seconds of a core."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Timer
from typing import TypeVar

from ...errors import UsageError
from ..problems import Problem

T = TypeVar("T")
PROCESS = (sys.executable, "-P", "-m", "tuner.service.kept.process")
GRACE_S = 10.0
"""Seconds in which a process ends that was asked to."""
REFUSED = 65
"""The code of a process that wrote a sentence instead, because what was asked is wrong."""


class Writer:
    """Starts one process after the other; each ends by itself when the service has died.

    Args:
        name: of its thread.
        place: the database, with its password where it has one.
        longest_s: seconds after which a process is ended.
    """

    def __init__(self, name: str, place: str, longest_s: float) -> None:
        self._place, self._longest_s = place, longest_s
        self._thread = ThreadPoolExecutor(1, name)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Run what calls `write`, after all that was submitted before."""
        return self._thread.submit(work)

    def write(self, kind: str, **asked: object) -> bytes:
        """Have something written, in the thread of `submit`.

        Raises:
            UsageError: what was asked is wrong.
            Problem: it takes too long, or the service is ending.
        """
        if self._closed:
            raise _ending()
        with subprocess.Popen(
            PROCESS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            self._process = process
            late = Event()
            limit = Timer(self._longest_s, _end, (process, late))
            limit.start()
            written = _told(process, {"kind": kind, "place": self._place, **asked})
            limit.cancel()
        if self._closed:
            raise _ending()
        if late.is_set():
            raise Problem(503, f"This takes more than {self._longest_s:.0f} s: use hpltune on the service's machine.")
        if process.returncode == REFUSED:
            raise UsageError(written.decode())
        if process.returncode:
            raise RuntimeError(f"the process that writes {kind} ended with code {process.returncode}")
        return written

    def close(self) -> None:
        """End the process that writes, and start no more."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            _end(self._process, Event())


def _told(process: "subprocess.Popen[bytes]", asked: object) -> bytes:
    """Tell a process what to write, and read it; standard input stays open, because its end ends the process."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    written = process.stdout.read()
    process.wait()
    return written


def _end(process: "subprocess.Popen[bytes]", told: Event) -> None:
    """End a process in order, and after the grace at once; `told` notes that it was."""
    told.set()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _ending() -> Problem:
    return Problem(503, "The service is ending: ask again when it is there again.", {"Retry-After": "10"})
