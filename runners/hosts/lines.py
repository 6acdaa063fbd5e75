"""A program that we start and hear line by line, until its input ends or it does."""

import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, cast

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
