"""A program on a node that answers line by line, for as long as we need it."""

import queue
import time
from collections.abc import Collection, Sequence

from ..errors import UnreachableError
from ..hosts.lines import LineProcess
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
        self._last = ""
        argv = reach.argv(node, command)
        try:
            self._program = LineProcess(argv)
        except OSError as error:
            raise UnreachableError(f"node {node}: cannot start {argv[0]}: {error.strerror}", node) from error

    def tell(self, words: Sequence[str]) -> None:
        """Send one line of words; that the program has ended is heard, not told."""
        self._program.tell(" ".join(words))

    def hear(self, kinds: Collection[str], timeout_s: float) -> list[str]:
        """Wait for the next line that begins with one of these words; its parts have tabs in between.

        Raises:
            UnreachableError: the program has ended, or says nothing for this time.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                line = self._program.next_line(deadline_s - time.monotonic())
            except queue.Empty:
                sentence = f"node {self.node}: no answer within {timeout_s:.0f} s"
                raise UnreachableError(sentence, self.node) from None
            if line is None:
                why = self._last or "the connection to it ended"
                raise UnreachableError(f"node {self.node}: {why}", self.node)
            parts = line.split("\t")
            if parts[0] in kinds:
                return parts
            self._last = line or self._last

    def close(self) -> None:
        """End the program."""
        self._program.end_input()
        self._program.wait(END_S)
