"""A request to stop: anyone can make one, from any thread; what runs looks at it."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
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


def may_wait_s(stop: Stopping, left_s: float | None) -> float:
    """Seconds that anything but a running trial may be waited for: a node, a queue, a quiet machine.

    Args:
        stop: after a request nothing is waited for.
        left_s: of the budget; None where time is not limited.
    """
    return 0.0 if stop.requested else math.inf if left_s is None else max(0.0, left_s)


class Interrupted(BaseException):
    """A request to stop came while something was prepared or worked out that it makes needless."""


class StopRequest:
    """What was asked for so far: the first request stops after the running trial, the second ends that too.

    Any thread may call `ask`. A request that is made in the thread which is at work, as a signal handler does, can also
    leave a block at once: see `thinking` and `preparing`.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._hung_at = math.inf
        self._thinking: list[int] = []
        self._preparing: list[int] = []
        self._waiting: list[int] = []

    def ask(self, *, at_once: bool = False) -> None:
        """Count one request; `at_once` ends the running trial too."""
        self._asked = 2 if at_once else self._asked + 1
        if self.at_once:
            self._hung_at = min(self._hung_at, time.monotonic() + HUNG_S)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Work something out that a request makes needless; nothing in the block may be stored.

        Raises:
            Interrupted: there is a request, before the block or at its end; or it was made while the block ran, in the
                same thread.
        """
        with _noted(self._thinking):
            self.interrupt()
            yield
            self.interrupt()

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Prepare a study, with nothing to save when it is left: look at the machine, build programs.

        Raises:
            Interrupted: a request was made while the block ran, in the same thread.
        """
        with _noted(self._preparing):
            yield

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for something while nothing runs that a request would have to leave alone."""
        with _noted(self._waiting):
            yield

    @property
    def waits(self) -> bool:
        """Whether a thread is in a block that waits."""
        return bool(self._waiting)

    @property
    def prepares(self) -> bool:
        """Whether this thread is in a block that prepares."""
        return get_ident() in self._preparing

    def interrupt(self) -> None:
        """Leave the block of this thread that a request makes needless, if there is a request.

        Raises:
            Interrupted: there is such a block.
        """
        if self.requested and (self.prepares or get_ident() in self._thinking):
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


@contextmanager
def _noted(threads: list[int]) -> Iterator[None]:
    """Note that this thread is in a block."""
    threads.append(get_ident())
    try:
        yield
    finally:
        threads.remove(get_ident())
