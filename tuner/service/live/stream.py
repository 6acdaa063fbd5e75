"""A feed as one watcher's answer: what was missed, what comes, and a sign of life while nothing does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import islice
from time import monotonic
from typing import Generic

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from .feed import Feed
from .reader import LiveReader
from .told import LiveTold, M

HEARTBEAT_S = 15.0
"""Seconds without an event after which a comment is sent."""
PATIENCE_S = 30.0
"""Seconds for which a watcher may take nothing, before the stream is given up; it goes on by its last id."""
ALIVE_S = 4.0
"""Seconds after which a page is told that it still shows how things are."""
ALIVE = "alive"
RETRY_MS = 2_000
"""After which a browser connects again."""
AT_A_TIME = 100
"""Events that are read from the store at a time."""


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


class Watcher(Generic[M]):
    """One who watches a feed.

    Args:
        told: up to where it knows the story; None knows nothing.
    """

    def __init__(self, reader: LiveReader, feed: Feed[M], told: M | None) -> None:
        self._reader = reader
        self._feed = feed
        self._told = told
        self._woken = asyncio.Event()
        self._over = False

    async def events(self) -> AsyncIterator[bytes]:
        """Give what is to be sent, until the story or the service ends."""
        self._feed.waiting.add(self._woken)
        yield format_sse_event(retry=RETRY_MS)
        moment, count = self._feed.place()
        if self._told is None:
            for told in self._feed.story.first(moment):
                yield self._sent(told)
            yield format_sse_event(id=moment.id)
        else:
            async for sent in self._missed(self._told, moment):
                yield sent
        while not (self._over or self._reader.draining):
            self._woken.clear()
            found = self._feed.since(count)
            if found is None:
                known, (moment, count) = moment, self._feed.place()
                async for sent in self._missed(known, moment):
                    yield sent
                continue
            for sent, one in found:
                count += 1
                moment = moment if one is None else one.moment
                yield sent if one is None else self._sent(one)
                if self._over:
                    return
            if not found and not await self._wait():
                yield KEEPALIVE_COMMENT

    def leave(self) -> None:
        """Wait for nothing more."""
        self._feed.waiting.discard(self._woken)

    async def _missed(self, known: M, moment: M) -> AsyncIterator[bytes]:
        """Give what happened between two moments, a few events at a time."""
        missed = self._feed.story.between(known, moment)
        while part := await run_in_threadpool(_part, missed):
            for told in part:
                if self._reader.draining:
                    return
                yield self._sent(told)
        self._over = moment.ended

    def _sent(self, told: LiveTold[M]) -> bytes:
        self._over = told.moment.ended and told.last
        return told.sent()

    async def _wait(self) -> bool:
        """Wait for something new; false where nothing came."""
        try:
            await asyncio.wait_for(self._woken.wait(), HEARTBEAT_S)
        except TimeoutError:
            return False
        return True


def _part(told: Iterator[LiveTold[M]]) -> list[LiveTold[M]]:
    return list(islice(told, AT_A_TIME))
