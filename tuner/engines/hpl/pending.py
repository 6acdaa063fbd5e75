"""Keeps the runs that an engine asked for or was told of, and those that are under way."""

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Rung


class PendingRuns:
    """Places of a pool by rung, told or under way; the engine asks neither again."""

    def __init__(self) -> None:
        self._told: set[tuple[int, Rung]] = set()
        self._waiting: list[tuple[int, Rung]] = []

    def __len__(self) -> int:
        return len(self._taken)

    @property
    def _taken(self) -> set[tuple[int, Rung]]:
        return self._told.union(self._waiting)

    def places(self) -> set[int]:
        """All places that were asked or told on any rung."""
        return {place for place, _ in self._taken}

    def took(self, place: int, rung: Rung) -> bool:
        """Whether the configuration at a place was asked or told on a rung."""
        return (place, rung) in self._told or self.waits(place, rung)

    def waits(self, place: int, rung: Rung) -> bool:
        """Whether the run is under way."""
        return (place, rung) in self._waiting

    @property
    def under_way(self) -> list[Rung]:
        """The rung of each run that is under way."""
        return [rung for _, rung in self._waiting]

    def waiting(self, rung: Rung) -> list[int]:
        """The places of the runs that are under way on a rung."""
        return [place for place, one in self._waiting if one == rung]

    def left(self, rung: Rung, size: int) -> NDArray[np.bool_]:
        """Which of the first `size` places were neither asked nor told on a rung."""
        left = np.ones(size, dtype=bool)
        left[[place for place, taken in self._taken if taken == rung]] = False
        return left

    def take(self, place: int, rung: Rung) -> None:
        """Note that a run is under way."""
        self._waiting.append((place, rung))

    def settle(self, place: int, rung: Rung) -> None:
        """Note that a run was told, whether it was asked or not."""
        self._told.add((place, rung))
        if self.waits(place, rung):
            self._waiting.remove((place, rung))

    def free(self, place: int, rung: Rung) -> None:
        """Note that a run under way will not be told; it may be asked again unless it was told before."""
        self._waiting.remove((place, rung))
