"""Starts programs and hears what they print: many at once in one thread, each up to a limit of bytes and of time.

A node with a damaged disk may print without an end, and a thousand threads would take time from what is measured.
"""

import errno
import os
import queue
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, cast

from ..errors import RunnerError
from ..process_tree import require_open_files

LONGEST, MOST = 1 << 16, 4096
"""Characters of a line, and lines that wait to be heard: a program that prints more is ended."""
TOO_MUCH = "it prints too much, and was ended"


class LineProcess:
    """A running program. Its input ends with `close` or with this process, and Ctrl-C is ours alone."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the program.

        Args:
            environment: of the program; None takes ours.

        Raises:
            OSError: it cannot be started.
        """
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            bufsize=1,
            env=environment,
            start_new_session=True,
        )
        self._input, self._output = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        self._reader = threading.Thread(target=self._read, name=f"hpltune-lines-{self.process.pid}", daemon=True)
        self._reader.start()

    def tell(self, line: str) -> None:
        """Send a line; that the program has ended is heard, not told."""
        with suppress(OSError, ValueError):
            self._input.write(f"{line}\n")
            self._input.flush()

    def next_line(self, timeout_s: float) -> str | None:
        """Wait for the next line of its output or errors; None once it says nothing more.

        Raises:
            queue.Empty: it said nothing for this time.
        """
        line = self._lines.get(timeout=max(0.0, timeout_s))
        if line is None:
            self._lines.put(None)
        return line

    def end_input(self) -> None:
        """End its input, after which it should end itself."""
        with suppress(OSError):
            self._input.close()

    def wait(self, end_s: float) -> None:
        """Wait for its end, and kill it after this time."""
        try:
            self.process.wait(end_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(end_s)

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._output:
            while (line := self._output.readline(LONGEST)) and self._lines.qsize() < MOST:
                self._lines.put(line.rstrip("\n"))
            if line:
                self._lines.put(TOO_MUCH)
                self.process.kill()
        self._lines.put(None)


MOST_BYTES = 1 << 20
"""Of an answer, and of its complaints; answers of nodes have some kilobytes."""
LOOK_S = 0.2
"""Seconds between two looks at whether somebody wants to stop, and at the time."""
END_S = 10.0
"""Seconds that a program whose input ended has to end itself."""
FILES = 4
"""That one program has open here: its three streams, and one more while it starts."""
_CHUNK = 1 << 16
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
"""Errors that say that this host is short of something, and nothing of the program."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command on a node."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """Return the last line of its standard error; "" where it said nothing."""
        return "".join(self.stderr.strip().splitlines()[-1:])

    def words(self) -> str:
        """Return the last words that it printed, or its exit code."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines()]
        return "; ".join([line for line in lines if line and line != "Exiting."][-2:]) or f"code {self.exit_code}"


class Unheard(Enum):
    """Why a program has no result."""

    LATE = "it did not end in time"
    STOPPED = "somebody stopped it"
    LOUD = "it prints too much"


@dataclass(frozen=True)
class Call:
    """A program to start.

    Attributes:
        given: its input, or the file that holds it; None keeps the input open, and its end tells the program to end.
        limit_s: seconds after which it is ended.
    """

    argv: tuple[str, ...]
    limit_s: float
    given: bytes | Path | None = b""


Outcome = CommandResult | Unheard | OSError


def hear(
    calls: Mapping[str, Call], stop: Callable[[], bool] = lambda: False, *, at_once: int | None = None
) -> dict[str, Outcome]:
    """Run programs at the same time until each has ended, and return what came of it.

    Args:
        stop: whether somebody wants to end them all.
        at_once: how many run at the same time; None for all.

    Returns:
        By name what a program printed, or why it has no result; an OSError where it cannot be started.

    Raises:
        RunnerError: this host may not open enough files, or is short of memory or processes.
    """
    most = min(len(calls), at_once or len(calls))
    require_open_files(FILES * most, f"{most:,} programs")
    waiting, found, looked_s = deque(calls), dict[str, Outcome](), time.monotonic()
    with selectors.DefaultSelector() as selector, _running() as running:
        while waiting or running:
            while waiting and len(running) < most:
                name = waiting.popleft()
                try:
                    running[name] = _Program(name, calls[name], selector)
                except OSError as error:
                    if error.errno in _OURS:
                        raise RunnerError(f"this host cannot start more programs: {error.strerror}") from error
                    found[name] = error
            touched = {key.data.name for key, _ in selector.select(LOOK_S) if key.data.pass_on(key.fileobj)}
            stopped = False
            if time.monotonic() - looked_s >= LOOK_S or not touched:
                touched, stopped, looked_s = set(running), stop(), time.monotonic()
            for name in touched & running.keys():
                if (outcome := running[name].outcome(stopped=stopped)) is not None:
                    found[name] = outcome
                    del running[name]
    return {name: found[name] for name in calls}


@contextmanager
def _running() -> "Iterator[dict[str, _Program]]":
    """Programs that run while the block does; what still runs at its end is killed."""
    running: dict[str, _Program] = {}
    try:
        yield running
    finally:
        for program in running.values():
            program.kill()


class _Program:
    """A program that runs, and what it printed so far."""

    def __init__(self, name: str, call: Call, selector: selectors.BaseSelector) -> None:
        self.name = name
        self._selector = selector
        # in a session of its own: Ctrl-C is ours, and what it started can be ended with it
        with call.given.open("rb") if isinstance(call.given, Path) else nullcontext(subprocess.PIPE) as stdin:
            self._process = subprocess.Popen(
                call.argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        self._deadline_s = time.monotonic() + call.limit_s
        self._ends: Unheard | None = None
        self._left = memoryview(call.given) if isinstance(call.given, bytes) else memoryview(b"")
        given, output, errors = (
            cast("IO[bytes]", stream) for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._printed: dict[object, bytearray] = {output: bytearray(), errors: bytearray()}
        self._open: set[object] = {output, errors}
        if call.given == b"":
            self._close(given)
        for stream in (output, errors, *([given] if self._left else [])):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_WRITE if stream is given else selectors.EVENT_READ, self)

    def pass_on(self, stream: object) -> bool:
        """Read what can be read, or write what can be written; return whether that may have ended something."""
        if stream is self._process.stdin:
            self._write(cast("IO[bytes]", stream))
            return False
        reading = cast("IO[bytes]", stream)
        with suppress(BlockingIOError):
            read = os.read(reading.fileno(), _CHUNK)
            self._printed[stream] += read
            if read and len(self._printed[stream]) > MOST_BYTES:
                self._end(Unheard.LOUD)
            elif not read:
                self._close(reading)
        return True

    def outcome(self, *, stopped: bool) -> Outcome | None:
        """Return what came of it; None while it runs. One that is late or stopped is told to end, then killed."""
        if self._ends is None and (stopped or time.monotonic() > self._deadline_s):
            self._end(Unheard.STOPPED if stopped else Unheard.LATE)
        code = self._process.poll()
        if self._ends is not None:
            if code is None and time.monotonic() < self._deadline_s:
                return None
            self.kill()
            return self._ends
        if self._open or code is None:
            return None
        self.kill()
        printed, errors = (text.decode(errors="replace") for text in self._printed.values())
        return CommandResult(code, printed, errors)

    def kill(self) -> None:
        """End what is left of it, and close its streams."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                self._close(stream)
        self._process.wait()

    def _end(self, why: Unheard) -> None:
        """Tell it to end by the end of its input; one whose input has ended already gets no more time."""
        self._ends = why
        held = self._process.stdin is not None and not self._process.stdin.closed and why is not Unheard.LOUD
        self._deadline_s = time.monotonic() + (END_S if held else 0.0)
        if self._process.stdin is not None:
            self._close(self._process.stdin)

    def _write(self, stream: IO[bytes]) -> None:
        try:
            self._left = self._left[os.write(stream.fileno(), self._left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it reads no more, and its exit code tells why
            self._left = memoryview(b"")
        if not self._left:
            self._close(stream)

    def _close(self, stream: IO[bytes]) -> None:
        self._open.discard(stream)
        if not stream.closed:
            with suppress(KeyError):
                self._selector.unregister(stream)
            with suppress(OSError):
                stream.close()
