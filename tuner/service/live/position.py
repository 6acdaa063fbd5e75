"""How much of a campaign was told: the id of an event, from which a stream goes on exactly there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ...messages.live import LiveState
from ..api.cursors import LARGEST

STATES: Mapping[str, LiveState] = {
    "q": "queued",
    "r": "running",
    "p": "paused",
    "c": "complete",
    "i": "interrupted",
    "k": "killed",
    "f": "failed",
    "n": "cancelled",
    "x": "removed",
}
"""The letters with which ids begin."""
LETTERS = {state: letter for letter, state in STATES.items()}
GOES_ON: frozenset[LiveState] = frozenset({"queued", "running", "paused"})
"""States after which more is to be told."""
MOST_RUNNING = 1_000
"""Trials that may run at a time."""
_SHAPE = re.compile(rf"([{''.join(STATES)}])(\d{{1,10}}(?:\.\d{{1,10}})*)", re.ASCII)


@dataclass(frozen=True)
class Position:
    """How much of a campaign was told.

    Attributes:
        begun: number of the last trial whose begin was told.
        running: numbers of those whose end was not.
        state: of the campaign; None before anything was told.
    """

    begun: int = 0
    running: frozenset[int] = frozenset()
    state: LiveState | None = None

    def __str__(self) -> str:
        if self.state is None:
            return "0"
        return LETTERS[self.state] + ".".join(map(str, (self.begun, *sorted(self.running))))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` wrote; None for any other text."""
        if text == "0":
            return cls()
        found = _SHAPE.fullmatch(text)
        if found is None:
            return None
        begun, *running = map(int, found[2].split("."))
        position = cls(begun, frozenset(running), STATES[found[1]])
        sound = str(position) == text and begun <= LARGEST and all(0 < number <= begun for number in running)
        return position if sound and len(running) <= MOST_RUNNING else None

    @property
    def ended(self) -> bool:
        """Whether it was told that the campaign has ended."""
        return self.state is not None and self.state not in GOES_ON

    def before(self, other: "Position") -> bool:
        """Whether somebody who was told this can be told the rest up to another position of the same campaign."""
        known = all(number in self.running or number > self.begun for number in other.running)
        return self.begun <= other.begun and known
