"""What the reader found of one story, for all who watch it."""

import asyncio
import threading
from collections import deque
from itertools import islice
from typing import Generic

from fastapi.sse import format_sse_event

from .told import LiveTold, M, Story

REMEMBERED = 1_000
"""Events of a feed that are in memory; a watcher who is further behind is told from the store."""


class Feed(Generic[M]):
    """One story, its last events, and who waits for the next.

    The reader adds to it; watchers of any number read the same bytes.

    Attributes:
        waiting: those to wake when there is something new.
        more: there was more to read than the last time took.
    """

    def __init__(self, story: Story[M], moment: M) -> None:
        self.story = story
        self._moment = moment
        self._kept: deque[tuple[bytes, LiveTold[M] | None]] = deque(maxlen=REMEMBERED)
        self._count = 0
        self._lock = threading.Lock()
        self.waiting: set[asyncio.Event] = set()
        self.more = False

    def place(self) -> tuple[M, int]:
        """Where the story stands, and how many events led there."""
        with self._lock:
            return self._moment, self._count

    def since(self, count: int) -> list[tuple[bytes, LiveTold[M] | None]] | None:
        """The events after so many; None where they are not in memory any more. Progress is no event of the story."""
        with self._lock:
            left = self._count - count
            return list(islice(self._kept, len(self._kept) - left, None)) if left <= len(self._kept) else None

    def read(self, *, look: bool) -> bool:
        """Read some of what is new in the store; only the reader calls this.

        Args:
            look: also find out whether those who work on it still live.

        Returns:
            Whether watchers are to be woken.
        """
        told, self.more = self.story.news(self._moment, look=look)
        with self._lock:
            for one in told:
                self._add(one.sent(), one)
                self._moment = one.moment
        return bool(told)

    def follow(self) -> bool:
        """Read how far running trials are; only the reader calls this."""
        found = self.story.progress(self._moment)
        with self._lock:
            for event in found:
                self._add(format_sse_event(data_str=event.model_dump_json(), event=event.event), None)
        return bool(found)

    def _add(self, sent: bytes, told: LiveTold[M] | None) -> None:
        self._kept.append((sent, told))
        self._count += 1

    def wake(self) -> None:
        """Let all who wait look again; called in their event loop."""
        for waiter in self.waiting:
            waiter.set()
