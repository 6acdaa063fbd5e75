"""A program on a node that answers line by line, for as long as we need it."""

import queue
import subprocess
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import IO, cast

from ..errors import UnreachableError
from ..hosts.transport import Transport

END_S = 10.0
"""Seconds that a program has to end after its input did."""


class NodeTalk:
    """A program that runs on a node until `close`, or until this process ends: its input ends then."""

    def __init__(self, reach: Transport, node: str, command: Sequence[str]) -> None:
        """Start the program.

        Raises:
            UnreachableError: the local program that reaches the node cannot be started.
            InvalidJobError: the node is no host name.
        """
        self.node = node
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last = ""
        argv = reach.argv(node, command)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                bufsize=1,
                start_new_session=True,
            )
        except OSError as error:
            raise UnreachableError(f"node {node}: cannot start {argv[0]}: {error.strerror}", node) from error
        self._input, self._output = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        self._reader = threading.Thread(target=self._read, name=f"hpltune-talk-{node}", daemon=True)
        self._reader.start()

    def tell(self, words: Sequence[str]) -> None:
        """Send one line of words; that the program has ended is heard, not told."""
        with suppress(OSError, ValueError):
            self._input.write(" ".join(words) + "\n")
            self._input.flush()

    def hear(self, kinds: Collection[str], timeout_s: float) -> list[str]:
        """Wait for the next line that begins with one of these words; its parts have tabs in between.

        Raises:
            UnreachableError: the program has ended, or says nothing for this time.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline_s - time.monotonic()))
            except queue.Empty:
                sentence = f"node {self.node}: no answer within {timeout_s:.0f} s"
                raise UnreachableError(sentence, self.node) from None
            if line is None:
                self._lines.put(None)
                why = self._last or "the connection to it ended"
                raise UnreachableError(f"node {self.node}: {why}", self.node)
            parts = line.split("\t")
            if parts[0] in kinds:
                return parts
            self._last = line or self._last

    def close(self) -> None:
        """End the program."""
        with suppress(OSError):
            self._input.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_S)

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._output:
            for line in self._output:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)
