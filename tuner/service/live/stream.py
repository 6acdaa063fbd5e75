"""A feed as one watcher's answer: what was missed, what comes, and a sign of life while nothing does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from results.store.outbox import EventName, StoredEvent
from results.store.service.campaign_entry import GOES_ON

from .reader import Feed, FeedMessage, LiveReader, sent

HEARTBEAT_S = 15.0
"""Seconds without an event after which a comment is sent."""
PATIENCE_S = 30.0
"""Seconds for which a watcher may take nothing, before the stream is given up; it goes on by its last id."""
ALIVE_S = 4.0
"""Seconds after which a page is told that it still shows how things are."""
ALIVE = "alive"
RETRY_MS = 2_000
"""After which a browser connects again."""


NEVER_STORED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""No cache keeps a stream, and no proxy holds it back."""


class EventStream(StreamingResponse):
    """Server-sent events.

    Args:
        leave: called when they end, however that is.
        allowed: whether the watcher may still see them; asked at each sign of life.
    """

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncIterator[bytes], leave: Callable[[], None], allowed: Callable[[], Awaitable[bool]]
    ) -> None:
        super().__init__(_while_allowed(events, allowed), headers=NEVER_STORED)
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end, or the watcher goes or takes none any more."""

        async def soon(message: Message) -> None:
            await asyncio.wait_for(send(message), PATIENCE_S)

        try:
            await super().__call__(scope, receive, soon)
        except* TimeoutError:
            pass
        finally:
            self._leave()


async def _while_allowed(events: AsyncIterator[bytes], allowed: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
    """Give events until the watcher may see no more: a token was revoked, a session has ended."""
    asked_s = monotonic()
    async for event in events:
        if monotonic() - asked_s >= HEARTBEAT_S:
            if not await allowed():
                return
            asked_s = monotonic()
        yield event


class Watcher:
    """One who watches a feed.

    Args:
        known: id of the last event that it knows, or of the one that led to `first`.
        first: how what it watches stands, for one who knows nothing.
    """

    def __init__(self, reader: LiveReader, feed: Feed, known: int, first: Sequence[StoredEvent] | None = None) -> None:
        self._reader = reader
        self._feed = feed
        self._known = known
        self._first = first
        self._woken = asyncio.Event()
        self._over = False

    async def events(self) -> AsyncIterator[bytes]:
        """Give what is to be sent, until what is watched or the service ends."""
        self._feed.waiting.add(self._woken)
        yield format_sse_event(retry=RETRY_MS)
        for event in self._first or ():
            yield self._told(replace(event, id=self._known), is_last=True)
        if self._first == []:
            yield format_sse_event(id=str(self._known))
        last, count = self._feed.place()
        async for part in self._missed(last):
            yield part
        while not (self._over or self._reader.draining):
            self._woken.clear()
            messages = self._feed.since(count)
            if messages is None:
                last, count = self._feed.place()
                async for part in self._missed(last):
                    yield part
                continue
            count += len(messages)
            for part in self._new(messages):
                yield part
            if not messages and not await self._wait():
                yield KEEPALIVE_COMMENT

    def leave(self) -> None:
        """Wait for nothing more."""
        self._feed.waiting.discard(self._woken)

    async def _missed(self, last: int) -> AsyncIterator[bytes]:
        """Give what happened up to an event, a few events at a time."""
        held: StoredEvent | None = None
        while not self._reader.draining:
            known = self._known if held is None else held.id
            events = await run_in_threadpool(self._reader.outbox.after, known, last, self._feed.campaign)
            for event in events:
                if held is not None:
                    yield self._told(held)
                held = event
            if not events:
                break
        if held is not None:
            yield self._told(held, is_last=True)

    def _new(self, messages: Sequence[FeedMessage]) -> Iterator[bytes]:
        """Give what came, but for events that it knows already."""
        ids = [message.event.id for message in messages if message.event is not None]
        for message in messages:
            if message.event is None:
                yield message.sent
            elif message.event.id > self._known:
                yield self._told(message.event, message.sent, is_last=message.event.id == ids[-1])

    def _told(self, event: StoredEvent, written: bytes | None = None, *, is_last: bool = False) -> bytes:
        """Write an event; the end of a campaign that went on later is told as a change, for a stream ends with the end.

        Args:
            written: what it was written as already.
            is_last: it is the last of what is watched until now.
        """
        self._known = event.id
        ended = self._feed.campaign is not None and event.state not in GOES_ON
        self._over = ended and is_last
        if ended and not is_last and event.name is EventName.ENDED:
            return sent(replace(event, name=EventName.CHANGED, running=()))
        return sent(event) if written is None else written

    async def _wait(self) -> bool:
        """Wait for something new; false where nothing came."""
        try:
            await asyncio.wait_for(self._woken.wait(), HEARTBEAT_S)
        except TimeoutError:
            return False
        return True
