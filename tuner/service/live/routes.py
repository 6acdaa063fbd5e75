"""Addresses of live events."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from results.store.outbox import Outbox, Reach, StoredEvent
from results.store.service.campaign_entry import GOES_ON

from ...messages.live import LiveEvent
from ..api.cursors import LARGEST
from ..authentication import needs
from ..callers import caller_of
from ..parts import CampaignName, Parts, ServiceParts
from ..problems import Problem
from .stream import EventStream, Watcher

router = APIRouter(prefix="/api/v1", tags=["live"], dependencies=[needs("read")])
FOREIGN = "The event id is none of this stream: leave it out, or give 0 to be told everything."
LONGEST = 200
"""Characters of what may be given as an id."""
_ID = re.compile("0|[1-9][0-9]{0,9}", re.ASCII)
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
    return await stream_of(request, parts, name, last if last is not None else query.after)


@router.get("/events", status_code=200, response_class=EventStream, responses=TOLD)
async def all_events(
    request: Request, parts: Parts, query: Known, last: Annotated[str | None, LAST] = None
) -> Response:
    """Tell what happens in all campaigns, as server-sent events without an end."""
    return await stream_of(request, parts, None, last if last is not None else query.after)


async def stream_of(request: Request, parts: ServiceParts, campaign: str | None, after: str | None) -> Response:
    """Answer with a stream of one campaign or of all.

    Args:
        after: the id of the last event that is known; None for none.

    Raises:
        Problem: the id is none of this stream, or too many watch.
    """
    with ExitStack() as stack:
        stack.enter_context(parts.live.seat(caller_of(request).name))
        feed = await run_in_threadpool(stack.enter_context, parts.live.watched(campaign))
        outbox = parts.live.outbox
        known = None if after is None else await run_in_threadpool(_known_id, outbox, campaign, after)
        if known is None:
            watcher = Watcher(parts.live, feed, *await run_in_threadpool(_standing, outbox, campaign))
        elif campaign is not None and await run_in_threadpool(_is_end, outbox, campaign, known):
            return Response(status_code=204)
        else:
            watcher = Watcher(parts.live, feed, known)
        stack.callback(watcher.leave)
        return EventStream(watcher.events(), stack.pop_all().close, partial(parts.authenticator.still_admits, request))


def _known_id(outbox: Outbox, campaign: str | None, after: str) -> int | None:
    """Read an id; None where what followed it is kept no more.

    Raises:
        Problem: it is none of this stream.
    """
    known = int(after) if _ID.fullmatch(after) else LARGEST + 1
    reach = Reach.FOREIGN if known > LARGEST else outbox.reach(known, campaign)
    if reach is Reach.FOREIGN:
        raise Problem(400, FOREIGN)
    return known if reach is Reach.WHOLE else None


def _standing(outbox: Outbox, campaign: str | None) -> tuple[int, Sequence[StoredEvent]]:
    """How a campaign stands, or how those stand that run, and the id of the event that led there."""
    if campaign is None:
        return outbox.standings()
    event = outbox.standing(campaign)
    return event.id, [event]


def _is_end(outbox: Outbox, campaign: str, known: int) -> bool:
    """Whether an event ended a campaign, and nothing happened since."""
    newest = outbox.newest(campaign)
    return newest.id == known and newest.state not in GOES_ON
