"""Clocks: real time for real machines, time that is told for replays and simulations."""

import time
from typing import Protocol


class Clock(Protocol):
    """What a budget measures against."""

    def now_s(self) -> float:
        """Seconds since an arbitrary start; never runs backwards."""
        ...


class RealClock:
    """The machine's monotonic clock."""

    def now_s(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()


class ToldClock:
    """A clock that moves only when it is told to: replays charge recorded seconds to it."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    def now_s(self) -> float:
        """Seconds told so far."""
        return self._now_s

    def sleep(self, seconds: float) -> None:
        """Advance without waiting.

        Raises:
            ValueError: for a negative time.
        """
        if seconds < 0:
            raise ValueError(f"time cannot run backwards: {seconds} s")
        self._now_s += seconds
