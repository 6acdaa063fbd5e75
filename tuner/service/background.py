"""What a service does besides answering: duties in threads, and a niced process that computes for it."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from results.errors import ResultsError

from ..errors import UsageError
from .background_child import REFUSED
from .problems import Problem

T = TypeVar("T")
LOGGER = logging.getLogger("hpltune.duties")
STUCK_S = 90.0
"""Seconds without the end of a turn after which a duty counts as stuck; a turn may wait a minute for a database."""
CHILD = (sys.executable, "-P", "-m", "tuner.service.background_child")
GRACE_S = 10.0
"""Seconds in which a process ends that was asked to."""


@dataclass
class Duty:
    """One thing that is done in turns until it is closed.

    Attributes:
        name: of what does it, in sentences.
        turn: does a little, and tells whether there is more to do now.
        pause_s: seconds between two turns where there is no more.
        closing_s: most seconds that the end of the service waits for a turn that goes on; None for as long as it takes.
    """

    name: str
    turn: Callable[[], bool]
    pause_s: float
    closing_s: float | None = None
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _closed: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _turned_s: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Begin."""
        self._turned_s = monotonic()
        self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Do the next turn now."""
        self._wake.set()

    def close(self) -> None:
        """Begin no further turn, and wait for the end of the one that goes on."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self.closing_s)

    @property
    def stuck_s(self) -> float | None:
        """Seconds since its last turn, where these are too many; None where it goes on, or was never begun."""
        since_s = monotonic() - self._turned_s
        return since_s if self._thread is not None and since_s > STUCK_S else None

    def _work(self) -> None:
        failing = ""
        while not self._closed.is_set():
            more = False
            try:
                more = self.turn()
                failing = ""
            except Exception as error:
                if str(error) != failing:
                    failing = str(error)
                    expected = isinstance(error, ResultsError | OSError)
                    LOGGER.warning("%s cannot go on now: %s", self.name, failing, exc_info=None if expected else error)
            self._turned_s = monotonic()
            if not more:
                self._wake.wait(self.pause_s)
            self._wake.clear()


class BackgroundChild:
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
        """Run what calls `compute`, after all that was submitted before."""
        return self._thread.submit(work)

    def compute(self, kind: str, **asked: object) -> bytes:
        """Have something computed, in the thread of `submit`.

        Raises:
            UsageError: what was asked is wrong.
            Problem: it takes too long, or the service is ending.
        """
        if self._closed:
            raise _ending()
        with subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
            self._process = process
            late = threading.Event()
            limit = threading.Timer(self._longest_s, _end, (process, late))
            limit.start()
            computed = _told(process, {"kind": kind, "place": self._place, **asked})
            limit.cancel()
        if self._closed:
            raise _ending()
        if late.is_set():
            raise Problem(503, f"This takes more than {self._longest_s:.0f} s: use hpltune on the service's machine.")
        if process.returncode == REFUSED:
            raise UsageError(computed.decode())
        if process.returncode:
            raise RuntimeError(f"the process that computes {kind} ended with code {process.returncode}")
        return computed

    def close(self) -> None:
        """End the process that computes, and start no more."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            _end(self._process, threading.Event())


def _told(process: "subprocess.Popen[bytes]", asked: object) -> bytes:
    """Tell a process what to compute, and read it; standard input stays open, because its end ends the process."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    computed = process.stdout.read()
    process.wait()
    return computed


def _end(process: "subprocess.Popen[bytes]", told: threading.Event) -> None:
    """End a process by the end of its input, or kill it after the grace; `told` notes that it was."""
    told.set()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _ending() -> Problem:
    return Problem(503, "The service is ending: ask again when it is there again.", {"Retry-After": "10"})
