"""The one thread that reads the outbox for all who watch, and what it found for each of them."""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fastapi.sse import format_sse_event

from results.errors import ResultsError
from results.store.outbox import EventName, StoredEvent
from results.store.service.campaign_entry import GOES_ON
from results.store.store import Store

from ...messages.live import ProgressEvent, document
from ..problems import Problem
from .running_runs import RunningRuns, RunNow

REMEMBERED = 1_000
"""Messages of a feed that are in memory; a watcher who is further behind is told from the store."""
AT_A_TIME = 500
"""Events that are read from the store at a time."""
MOST_OF_ONE = 50
"""Streams of one caller at a time; a browser opens six."""
TICK_S = 0.05
"""Seconds between two looks whether the database has changed."""
LOOK_S = 1.0
"""Seconds between two looks that need no change: a process that was killed writes nothing."""
FOLLOW_S = 0.25
"""Seconds between two looks at what running trials say."""


@dataclass(frozen=True)
class FeedMessage:
    """What a watcher is sent; how far a trial is, which is no event of the outbox, has none."""

    sent: bytes
    event: StoredEvent | None = None


def sent(event: StoredEvent) -> bytes:
    """Write an event of the outbox as a server-sent event; nothing where its trial is damaged."""
    told = document(event)
    return (
        b"" if told is None else format_sse_event(data_str=told.model_dump_json(), event=told.event, id=str(event.id))
    )


class Feed:
    """The last messages of one campaign or of all, and who waits for the next; watchers of any number read the same.

    Attributes:
        campaign: None for all.
        waiting: those to wake when there is something new.
    """

    def __init__(self, campaign: str | None, last: int) -> None:
        self.campaign = campaign
        self.waiting: set[asyncio.Event] = set()
        self._last = last
        self._kept: deque[FeedMessage] = deque(maxlen=REMEMBERED)
        self._count = 0
        self._lock = threading.Lock()

    def place(self) -> tuple[int, int]:
        """The id of its last event, and how many messages led there."""
        with self._lock:
            return self._last, self._count

    def since(self, count: int) -> list[FeedMessage] | None:
        """The messages after so many; None where they are not in memory any more."""
        with self._lock:
            left = self._count - count
            return list(islice(self._kept, len(self._kept) - left, None)) if left <= len(self._kept) else None

    def add(self, message: FeedMessage) -> None:
        """Add a message; only the reader calls this."""
        with self._lock:
            self._kept.append(message)
            self._count += 1
            if message.event is not None:
                self._last = message.event.id

    def wake(self) -> None:
        """Let all who wait look again; called in their event loop."""
        for waiter in self.waiting:
            waiter.set()


class LiveReader:
    """Reads for all who watch, and not at all while nobody does.

    Args:
        runs: the folder of all runs.
        most_watchers: streams at a time.
    """

    def __init__(self, store: Store, runs: Path, most_watchers: int) -> None:
        self.outbox = store.outbox
        self._store = store
        self.most_watchers = most_watchers
        self._loop = asyncio.get_running_loop()
        self._seats: Counter[str] = Counter()
        self._feeds: dict[str | None, tuple[Feed, int]] = {}
        self._last: int | None = None
        self._trials = _RunningTrials(runs)
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
    def watched(self, campaign: str | None) -> Iterator[Feed]:
        """Watch a campaign, or all, while the block runs.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        feed = self._enter(campaign)
        try:
            yield feed
        finally:
            self._leave(campaign)

    def _enter(self, campaign: str | None) -> Feed:
        names = [self.outbox.newest(campaign).campaign] if campaign is not None else self.outbox.at_work()
        last = self.outbox.last_id()
        running = {name: set(self.outbox.running(name)) for name in names}
        with self._changed:
            self._last = last if self._last is None else self._last
            feed, count = self._feeds.get(campaign) or (Feed(campaign, self._last), 0)
            self._feeds[campaign] = feed, count + 1
            self._trials.numbers = {**running, **self._trials.numbers}
            self._new = True
            self._changed.notify()
            return feed

    def _leave(self, campaign: str | None) -> None:
        with self._changed:
            feed, count = self._feeds.pop(campaign)
            if count > 1:
                self._feeds[campaign] = feed, count - 1
            elif None not in self._feeds:
                self._trials.keep(self._feeds.keys())

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
        version: str | None
        version, looked_s, followed_s, more = None, 0.0, 0.0, False
        while not self.draining:
            now_s, found = time.monotonic(), self._store.lists.version()
            with self._changed:
                if not self._feeds:
                    self._last = None
                    return
                changed, self._new = self._new or found != version, False
            version = found
            if changed or more:
                more = self._read()
            if now_s - looked_s >= LOOK_S:
                looked_s = now_s
                self._look()
            if now_s - followed_s >= FOLLOW_S:
                followed_s = now_s
                self._follow()
            time.sleep(0.0 if more else TICK_S)

    def _read(self) -> bool:
        """Read some of what is new, and give it to the feeds that want it; whether there may be more."""
        with self._changed:
            known = self._last or 0
        events = self.outbox.after(known, self.outbox.last_id(), most=AT_A_TIME)
        messages = [(event.campaign, FeedMessage(sent(event), event)) for event in events]
        with self._changed:
            for event in events:
                if event.campaign in self._feeds or None in self._feeds:
                    self._trials.note(event)
            self._last = events[-1].id if events else known
            self._give(messages)
        return len(events) == AT_A_TIME

    def _give(self, messages: Sequence[tuple[str, FeedMessage]]) -> None:
        """Give messages to the feeds of their campaigns and to that of all, and wake who waits."""
        woken: set[Feed] = set()
        for campaign, message in messages:
            for feed, _ in filter(None, (self._feeds.get(campaign), self._feeds.get(None))):
                feed.add(message)
                woken.add(feed)
        for feed in woken:
            self._loop.call_soon_threadsafe(feed.wake)

    def _look(self) -> None:
        """Find out whether those who work on what is watched still live."""
        with self._changed:
            names = list(self._feeds)
        for name in self.outbox.at_work() if None in names else names:
            if name is not None:
                self.outbox.settle(name)

    def _follow(self) -> None:
        """Tell how far running trials are, where that is new."""
        with self._changed:
            running = {name: frozenset(numbers) for name, numbers in self._trials.numbers.items() if numbers}
        told = self._trials.look(running)
        with self._changed:
            self._give(told)


class _RunningTrials:
    """The running trials of all campaigns that are watched.

    Attributes:
        numbers: of the trials, by the names of their campaigns.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[str, RunningRuns] = {}
        self.numbers: dict[str, set[int]] = {}

    def note(self, event: StoredEvent) -> None:
        """Keep in mind which trials run."""
        numbers = self.numbers.setdefault(event.campaign, set())
        if event.name is EventName.TRIAL_BEGUN and event.trial is not None:
            numbers.add(event.trial.number)
        elif event.name is EventName.TRIAL_ENDED and event.trial is not None:
            numbers.discard(event.trial.number)
        elif event.state not in GOES_ON:
            del self.numbers[event.campaign]

    def keep(self, campaigns: Collection[str | None]) -> None:
        """Forget the trials of other campaigns."""
        self.numbers = {name: numbers for name, numbers in self.numbers.items() if name in campaigns}

    def look(self, running: Mapping[str, Collection[int]]) -> list[tuple[str, FeedMessage]]:
        """Read how far trials are, where that is new."""
        self._runs = {name: self._runs.get(name) or RunningRuns(self._folder, name) for name in running}
        return [(name, _progress(name, run)) for name, runs in self._runs.items() for run in runs.look(running[name])]


def _progress(campaign: str, run: RunNow) -> FeedMessage:
    event = ProgressEvent(
        campaign=campaign,
        number=run.number,
        fraction=round(run.panel.fraction, 5),
        elapsed_s=round(run.panel.time_s, 3),
        left_s=None if run.left_s is None else round(run.left_s, 3),
        gflops=None if run.gflops is None else round(run.gflops, 6),
        panel_gflops=None if run.panel_gflops is None else round(run.panel_gflops, 6),
    )
    return FeedMessage(format_sse_event(data_str=event.model_dump_json(), event=event.event))


def _no_seat(why: str) -> Problem:
    return Problem(503, f"{why}: end one of them.", {"Retry-After": "30"})
