"""Finds the partial point of a block that is most similar to a wished one, with one vectorised comparison."""

from collections.abc import Sequence

import numpy as np

from hpl.params import Scalar

from .parameters.dimension import Point

ABSENT = -1
UNKNOWN = -2
"""The number of a wished value that no part has."""
MOST_KNOWN = 20_000
"""Most cached answers; wishes near one point differ in few blocks, so the same answers are needed again."""


class Parts:
    """The partial points of a block, with their values as numbers.

    Args:
        parts: the partial points, at least one.
    """

    def __init__(self, parts: Sequence[Point]) -> None:
        self._parts = parts
        self._names = list(dict.fromkeys(name for part in parts for name in part))
        self._numbers: dict[str, dict[Scalar | None, int]] = {}
        self._table = np.array([self._column(name) for name in self._names], dtype=np.int32)
        self._known: dict[tuple[str | None, tuple[int, ...]], Point] = {}

    def nearest(self, wish: Point, keep: str | None) -> Point:
        """Return the part with the most wished values; of equal ones the first.

        Args:
            keep: the parameter that must have the wished value, if any part has it.
        """
        wished = tuple(
            self._numbers[name].get(wish[name], UNKNOWN) if name in wish else UNKNOWN for name in self._names
        )
        question = (keep if keep in self._names else None, wished)
        if question not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[question] = self._nearest(wished, question[0])
        return self._known[question]

    def _nearest(self, wished: tuple[int, ...], keep: str | None) -> Point:
        agreeing = np.zeros(len(self._parts), dtype=np.int16)
        for column, number in zip(self._table, wished, strict=True):
            if number != UNKNOWN:
                agreeing += column == number
        if keep is not None:
            index = self._names.index(keep)
            kept = self._table[index] == wished[index]
            agreeing[~kept] -= len(self._names) + 1 if kept.any() else 0
        return self._parts[int(np.argmax(agreeing))]

    def _column(self, name: str) -> list[int]:
        """Assign numbers to the values of a parameter, and return the number of each part's value."""
        values: list[Scalar | None] = [part.get(name) for part in self._parts]
        present = [value for value in dict.fromkeys(values) if value is not None]
        numbers: dict[Scalar | None, int] = {value: number for number, value in enumerate(present)}
        self._numbers[name] = numbers
        return [numbers.get(value, ABSENT) for value in values]
