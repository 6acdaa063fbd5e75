"""Which partial point of a block is most like a wished one, found at once for all of them."""

from collections.abc import Mapping, Sequence

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
        self._numbers: Mapping[str, dict[Scalar, int]] = {name: {} for name in self._names}
        self._table = np.array([[self._number(name, part) for part in parts] for name in self._names], dtype=np.int32)
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
        same = self._table == np.array(wished, dtype=np.int32)[:, None]
        agreeing = same.sum(axis=0, dtype=np.int32)
        if keep is not None:
            kept = same[self._names.index(keep)]
            agreeing[~kept] -= len(self._names) + 1 if kept.any() else 0
        return self._parts[int(np.argmax(agreeing))]

    def _number(self, name: str, part: Point) -> int:
        numbers = self._numbers[name]
        return numbers.setdefault(part[name], len(numbers)) if name in part else ABSENT
