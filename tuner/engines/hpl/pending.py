"""Which configurations an engine asked for, or was told of, on which rung, and which of them are under way."""

import numpy as np
from numpy.typing import NDArray

from ..fidelity import Rung


class PendingRuns:
    """Places of a pool by rung: told, or waiting to be; what is either is not asked again."""

    def __init__(self) -> None:
        self._told: set[tuple[int, Rung]] = set()
        self._waiting: list[tuple[int, Rung]] = []

    def __len__(self) -> int:
        return len(self._taken)

    @property
    def _taken(self) -> set[tuple[int, Rung]]:
        return self._told.union(self._waiting)

    def places(self) -> set[int]:
        """All that were asked or told on any rung."""
        return {place for place, _ in self._taken}

    def took(self, place: int, rung: Rung) -> bool:
        """Whether it was asked or told."""
        return (place, rung) in self._told or self.waits(place, rung)

    def waits(self, place: int, rung: Rung) -> bool:
        """Whether it was asked, and its outcome is still to come."""
        return (place, rung) in self._waiting

    @property
    def under_way(self) -> list[Rung]:
        """The rung of each run that was not told yet."""
        return [rung for _, rung in self._waiting]

    def waiting(self, rung: Rung) -> list[int]:
        """Places of the runs on a rung that were not told yet."""
        return [place for place, one in self._waiting if one == rung]

    def left(self, rung: Rung, size: int) -> NDArray[np.bool_]:
        """Of so many places, those neither asked nor told on a rung."""
        left = np.ones(size, dtype=bool)
        left[[place for place, taken in self._taken if taken == rung]] = False
        return left

    def take(self, place: int, rung: Rung) -> None:
        """Note that it is under way."""
        self._waiting.append((place, rung))

    def settle(self, place: int, rung: Rung) -> None:
        """Note that it was told, asked or not."""
        self._told.add((place, rung))
        if self.waits(place, rung):
            self._waiting.remove((place, rung))

    def free(self, place: int, rung: Rung) -> None:
        """Note that what is under way will not be told; it may be asked again unless it was told before."""
        self._waiting.remove((place, rung))
