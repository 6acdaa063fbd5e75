"""The one thread that reads the store for all who watch."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from results.errors import ResultsError
from results.store.store import Store

from ..problems import Problem
from .all_campaigns import AllMoment, AllStory
from .campaign_story import CampaignStory, Moment
from .feed import Feed

MOST_OF_ONE = 50
"""Streams of one caller at a time; a browser opens six."""
TICK_S = 0.05
"""Seconds between two looks whether the database has changed."""
LOOK_S = 1.0
"""Seconds between two looks that need no change: a process that was killed writes nothing."""
FOLLOW_S = 0.25
"""Seconds between two looks at what running trials say."""


class LiveReader:
    """Reads for all who watch, and not at all while nobody does.

    Args:
        runs: the folder of all runs.
        most_watchers: streams at a time.
    """

    def __init__(self, store: Store, runs: Path, most_watchers: int) -> None:
        self._store = store
        self._runs = runs
        self.most_watchers = most_watchers
        self._loop = asyncio.get_running_loop()
        self._seats: Counter[str] = Counter()
        self._feeds: dict[str, tuple[Feed[Any], int]] = {}
        self._changed = threading.Condition()
        self._new = False
        self.draining = False
        self._thread = threading.Thread(target=self._run, name="live-reader", daemon=True)
        self._thread.start()

    @contextmanager
    def seat(self, name: str) -> Iterator[None]:
        """Count a watcher while the block runs.

        Args:
            name: who watches.

        Raises:
            Problem: very many watch, or this one watches very much.
        """
        with self._changed:
            taken, own = self._seats.total(), self._seats[name]
            if taken >= self.most_watchers:
                raise _no_seat(f"{taken} streams are watched already")
            if own >= MOST_OF_ONE:
                raise _no_seat(f"{own} streams are watched already by {name}")
            self._seats[name] += 1
        try:
            yield
        finally:
            with self._changed:
                self._seats[name] -= 1

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return sum(count for _, count in self._feeds.values())

    @contextmanager
    def campaign(self, name: str) -> Iterator[Feed[Moment]]:
        """Watch a campaign while the block runs.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        with self._watched(f"campaign {name}", lambda: CampaignStory(self._store, self._runs, name)) as feed:
            yield feed

    @contextmanager
    def all(self) -> Iterator[Feed[AllMoment]]:
        """Watch all campaigns while the block runs."""
        with self._watched("all", lambda: AllStory(self._store, self._runs)) as feed:
            yield feed

    @contextmanager
    def _watched(self, key: str, make: Callable[[], Any]) -> Iterator[Feed[Any]]:
        feed = self._enter(key, make)
        try:
            yield feed
        finally:
            self._leave(key)

    def _enter(self, key: str, make: Callable[[], Any]) -> Feed[Any]:
        with self._changed:
            known = self._feeds.get(key)
        if known is None:
            story = make()
            made = Feed(story, story.now())
        with self._changed:
            feed, count = self._feeds.get(key) or (made if known is None else known[0], 0)
            self._feeds[key] = feed, count + 1
            self._new = True
            self._changed.notify()
            return feed

    def _leave(self, key: str) -> None:
        with self._changed:
            feed, count = self._feeds[key]
            if count > 1:
                self._feeds[key] = feed, count - 1
            else:
                del self._feeds[key]

    def drain(self) -> None:
        """Let every stream end, and the thread; called in the event loop."""
        self.draining = True
        with self._changed:
            self._changed.notify()
            feeds = [feed for feed, _ in self._feeds.values()]
        for feed in feeds:
            feed.wake()

    def join(self) -> None:
        """Wait for the thread, which the store must outlive."""
        self._thread.join()

    def _run(self) -> None:
        while not self.draining:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._feeds) or self.draining)
            try:
                self._watch()
            except ResultsError:
                time.sleep(LOOK_S)  # the database is away; each stream goes on where it was once it is there again

    def _watch(self) -> None:
        """Read as long as somebody watches."""
        last: str | None
        last, looked_s, followed_s = None, 0.0, 0.0
        while not self.draining:
            now_s, found = time.monotonic(), self._store.lists.version()
            with self._changed:
                feeds = [feed for feed, _ in self._feeds.values()]
                changed, self._new = self._new or found != last, False
            if not feeds:
                return
            look, follow, last = now_s - looked_s >= LOOK_S, now_s - followed_s >= FOLLOW_S, found
            for feed in feeds:
                news = (changed or look or feed.more) and feed.read(look=look)
                progress = follow and feed.follow()
                if news or progress:
                    self._loop.call_soon_threadsafe(feed.wake)
            looked_s = now_s if look else looked_s
            followed_s = now_s if follow else followed_s
            time.sleep(0.0 if any(feed.more for feed in feeds) else TICK_S)


def _no_seat(why: str) -> Problem:
    return Problem(503, f"{why}: end one of them.", {"Retry-After": "30"})
