"""Ctrl-C: the first asks to stop after the running trial, the second stops it at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Stopping(Protocol):
    """Who may end a run."""

    @property
    def at_once(self) -> bool:
        """The running trial must be ended."""


class StopRequest:
    """What the user has asked for so far."""

    def __init__(self) -> None:
        self._asked = 0

    def ask(self, *, at_once: bool = False) -> None:
        """Count one request; `at_once` makes it the last warning."""
        self._asked = 2 if at_once else self._asked + 1

    @property
    def requested(self) -> bool:
        """No further trial may start."""
        return self._asked > 0

    @property
    def at_once(self) -> bool:
        """The running trial must be ended too."""
        return self._asked > 1


@contextmanager
def listening(on_request: Callable[[StopRequest], None]) -> Iterator[StopRequest]:
    """Turn SIGINT, SIGTERM and SIGHUP into requests while the block runs.

    SIGTERM and SIGHUP stop at once: whoever sends them will not wait for a long run.

    Args:
        on_request: called in the main thread after each request, to tell the user.
    """
    stop = StopRequest()

    def handle(number: int, _frame: FrameType | None) -> None:
        stop.ask(at_once=number != signal.SIGINT)
        on_request(stop)

    handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopping_is_an_error() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP too, as SIGINT does, so that blocks are left in order."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    handled = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
