"""Ctrl-C: the first asks to stop after the running trial, the second stops it at once."""

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

HUNG_S = 5.0
"""Seconds that ending at once takes at most, unless something hangs."""


class Stopping(Protocol):
    """Who may end a run."""

    @property
    def requested(self) -> bool:
        """No further trial may start, nor one that still waits."""

    @property
    def at_once(self) -> bool:
        """The running trial must be ended."""


class Interrupted(BaseException):
    """The user wants nothing more to be started, so what is being worked out is not needed."""


class StopRequest:
    """What the user has asked for so far."""

    def __init__(self) -> None:
        self._asked = 0
        self._hung_at = math.inf
        self._thinking = False

    def ask(self, *, at_once: bool = False) -> None:
        """Count one request; `at_once` makes it the last warning."""
        self._asked = 2 if at_once else self._asked + 1
        if self.at_once:
            self._hung_at = min(self._hung_at, time.monotonic() + HUNG_S)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Work something out, in the main thread, that a request makes needless; nothing in the block may be stored.

        Raises:
            Interrupted: there is a request, before the block or while it runs.
        """
        self._thinking = True
        try:
            self.interrupt()
            yield
            self.interrupt()
        finally:
            self._thinking = False

    def interrupt(self) -> None:
        """Leave the block that only thinks, if there is a request.

        Raises:
            Interrupted: there is such a block.
        """
        if self._thinking and self.requested:
            raise Interrupted

    @property
    def requested(self) -> bool:
        """No further trial may start."""
        return self._asked > 0

    @property
    def at_once(self) -> bool:
        """The running trial must be ended too."""
        return self._asked > 1

    @property
    def hangs(self) -> bool:
        """The running trial should have ended by now."""
        return time.monotonic() > self._hung_at


class Stopped(SystemExit):
    """A signal ends the program; whatever is under way is left in order."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"stopped by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}"


@contextmanager
def stop_on_signals(on_request: Callable[[StopRequest], None]) -> Iterator[StopRequest]:
    """Turn SIGINT, SIGTERM and SIGHUP into requests while the block runs; each ends what only thinks.

    SIGTERM and SIGHUP stop at once: whoever sends them will not wait for a long run. Where that hangs, as with a file
    server or a database that does not answer, one more Ctrl-C leaves the block with Stopped.

    Args:
        on_request: called in the main thread after each request, to tell the user.
    """
    stop = StopRequest()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.hangs and number == signal.SIGINT:
            raise Stopped(number)
        stop.ask(at_once=number != signal.SIGINT)
        on_request(stop)
        stop.interrupt()

    with _handled_by(handle):
        yield stop


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """Leave the block with Stopped on SIGINT, SIGTERM and SIGHUP; inside a block that listens, for what is no trial."""

    def handle(number: int, _frame: FrameType | None) -> None:
        raise Stopped(number)

    with _handled_by(handle):
        yield


@contextmanager
def _handled_by(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals that end a program, but for those it was told to ignore when it began, as nohup does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
