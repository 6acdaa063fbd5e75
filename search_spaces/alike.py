"""Which partial point of a block is most like a wished one, found at once for all of them."""

from collections.abc import Sequence

import numpy as np

from hpl.params import Scalar

from .dimension import Point

ABSENT = -1
UNKNOWN = -2
"""Of a wished value that no part has."""
MOST_KNOWN = 20_000
"""Wishes whose answer is remembered: those beside one point differ from each other in few blocks."""


class Parts:
    """The partial points of a block with their values as numbers.

    Args:
        parts: at least one.
    """

    def __init__(self, parts: Sequence[Point]) -> None:
        self._parts = parts
        self._names = list(dict.fromkeys(name for part in parts for name in part))
        self._numbers: dict[str, dict[Scalar | None, int]] = {}
        self._table = np.array([self._column(name) for name in self._names], dtype=np.int32)
        self._known: dict[tuple[str | None, tuple[int, ...]], Point] = {}

    def nearest(self, wish: Point, keep: str | None) -> Point:
        """The first of those that have most values as wished.

        Args:
            keep: the parameter whose value must be as wished, if any part has it so.
        """
        wished = tuple(
            self._numbers[name].get(wish[name], UNKNOWN) if name in wish else UNKNOWN for name in self._names
        )
        asked = (keep if keep in self._names else None, wished)
        if asked not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[asked] = self._nearest(wished, asked[0])
        return self._known[asked]

    def _nearest(self, wished: tuple[int, ...], keep: str | None) -> Point:
        agreeing = np.zeros(len(self._parts), dtype=np.int16)
        for column, number in zip(self._table, wished, strict=True):
            if number != UNKNOWN:
                agreeing += column == number
        if keep is not None:
            place = self._names.index(keep)
            kept = self._table[place] == wished[place]
            agreeing[~kept] -= len(self._names) + 1 if kept.any() else 0
        return self._parts[int(np.argmax(agreeing))]

    def _column(self, name: str) -> list[int]:
        """The number of each part's value of a parameter."""
        values: list[Scalar | None] = [part.get(name) for part in self._parts]
        present = [value for value in dict.fromkeys(values) if value is not None]
        numbers: dict[Scalar | None, int] = {value: number for number, value in enumerate(present)}
        self._numbers[name] = numbers
        return [numbers.get(value, ABSENT) for value in values]
