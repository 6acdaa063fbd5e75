"""Addresses of live events."""

from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ...messages.live import LiveEvent
from ..authentication import caller_of, needs
from ..parts import CampaignName, Parts, ServiceParts
from ..problems import Problem
from .feed import Feed
from .stream import EventStream, Watcher
from .told import M

router = APIRouter(prefix="/api/v1", tags=["live"], dependencies=[needs("read")])
FOREIGN = "The event id is none of this stream: leave it out, or give 0 to be told everything."
LONGEST = 20_000
"""Characters of an id; one of all campaigns names each that is open."""
LAST = Header(
    max_length=LONGEST, alias="Last-Event-ID", description="id of the last event that is known, as browsers send it"
)


class EventsQuery(BaseModel):
    """From where a stream goes on."""

    model_config = ConfigDict(extra="forbid")

    after: str | None = Field(
        None, max_length=LONGEST, description="as Last-Event-ID, which counts if both are given; 0 tells everything"
    )


Known = Annotated[EventsQuery, Query()]


def _known_marks(
    seen: Annotated[str, Query(max_length=200)] = "",
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=200)] = None,
) -> str:
    """Marks of the parts that a page had when it was read, or of those that it has, where it was connected before."""
    return seen if last is None else last


KnownMarks = Annotated[str, Depends(_known_marks)]


TOLD: dict[int | str, dict[str, Any]] = {
    200: {"model": LiveEvent, "description": "Events; the data of each is JSON"},
    204: {"description": "Nothing follows the given id"},
}


@router.get("/campaigns/{name}/events", status_code=200, response_class=EventStream, responses=TOLD)
async def campaign_events(
    request: Request, parts: Parts, name: CampaignName, query: Known, last: Annotated[str | None, LAST] = None
) -> Response:
    """Tell what happens in a campaign as server-sent events, until it ends.

    Without an id the stream begins with how the campaign stands. 204 says that nothing will follow the given id.
    """
    return await stream_of(request, parts, parts.live.campaign(name), last if last is not None else query.after)


@router.get("/events", status_code=200, response_class=EventStream, responses=TOLD)
async def all_events(
    request: Request, parts: Parts, query: Known, last: Annotated[str | None, LAST] = None
) -> Response:
    """Tell what happens in all campaigns that have a study, as server-sent events without an end."""
    return await stream_of(request, parts, parts.live.all(), last if last is not None else query.after)


async def stream_of(
    request: Request, parts: ServiceParts, watched: AbstractContextManager[Feed[M]], after: str | None
) -> Response:
    """Answer with a stream.

    Args:
        after: the id of the last event that is known; None for none.

    Raises:
        Problem: the id is none of this stream, or too many watch.
    """
    with ExitStack() as stack:
        stack.enter_context(parts.live.seat(caller_of(request).name))
        feed = await run_in_threadpool(stack.enter_context, watched)
        told, (moment, _) = None, feed.place()
        if after is not None:
            told = feed.story.parse(after)
            if told is None or not told.before(moment):
                raise Problem(400, FOREIGN)
            if told.id == moment.id and moment.ended:
                return Response(status_code=204)
        watcher = Watcher(parts.live, feed, told)
        stack.callback(watcher.leave)
        return EventStream(watcher.events(), stack.pop_all().close, partial(parts.authenticator.still_admits, request))
