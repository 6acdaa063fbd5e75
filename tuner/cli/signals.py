"""Ctrl-C and other signals of a terminal, as requests to stop or as the end of the program."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ..stopping import Interrupted, StopRequest


class Stopped(SystemExit):
    """A signal ends the program; whatever is under way is left in order."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.sentence = f"stopped by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}"


@contextmanager
def stop_on_signals(on_request: Callable[[StopRequest], None]) -> Iterator[StopRequest]:
    """Turn SIGINT, SIGTERM and SIGHUP into requests while the block runs; each ends what only thinks or prepares.

    SIGTERM and SIGHUP stop at once: whoever sends them will not wait for a long run. Where that hangs, as with a file
    server or a database that does not answer, one more Ctrl-C leaves the block with Stopped.

    Args:
        on_request: called in the main thread after each request, to tell the user; not where the block ends at once.

    Raises:
        Stopped: a signal came while the block prepared something.
    """
    stop, last = StopRequest(), signal.SIGINT

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        if stop.hangs and number == signal.SIGINT:
            raise Stopped(number)
        last = signal.Signals(number)
        stop.ask(at_once=number != signal.SIGINT)
        if not stop.prepares:
            on_request(stop)
        stop.interrupt()

    with _handled_by(handle):
        try:
            yield stop
        except Interrupted as interrupted:
            raise Stopped(last) from interrupted


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """Leave the block with Stopped on SIGINT, SIGTERM and SIGHUP."""

    def handle(number: int, _frame: FrameType | None) -> None:
        raise Stopped(number)

    with _handled_by(handle):
        yield


@contextmanager
def silent_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the program without a word while the block runs, as it ends programs that are not Python's.

    Whoever handles or ignores it already goes on doing so.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def announce_stop(stop: StopRequest) -> None:
    """Say on standard error what a Ctrl-C will do."""
    sentence = "Stopping after the running trial; press Ctrl-C again to stop it at once."
    if stop.waits:
        sentence = "Stopping: the wait ends, and nothing runs."
    elif stop.at_once:
        sentence = "Stopping at once."
    with suppress(OSError):
        os.write(2, f"\n{sentence}\n".encode())  # a print may be under way, which takes no other one


def announce_end(_stop: StopRequest) -> None:
    """Say on standard error that a Ctrl-C ends what runs, and that what was measured counts."""
    with suppress(OSError):
        os.write(2, b"\nStopping: what runs is ended, and what was measured is reported.\n")


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
