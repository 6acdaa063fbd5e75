"""Addresses of the live page of a campaign."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from results.errors import ResultsError, UnknownStudyError
from results.store.service.access import AccessScope

from ...api.desk import Starting
from ...identity.caller import caller_of, needs
from ...identity.doorkeeper import still_admitted
from ...identity.forms import csrf_field
from ...kept.answers import Answers, KeptAnswers
from ...live.reader import LiveReader
from ...live.routes import Reading
from ...live.stream import HEARTBEAT_S, RETRY_MS, EventStream
from ...opened import CampaignName, OpenStore, no_query
from ..filled import FILLED_HEADERS, rendered
from ..frames import address_of, links_of
from ..queue import check_address, like, may_change, waiting_page
from .live_page import LivePage
from .live_pages import LivePages

router = APIRouter(include_in_schema=False, dependencies=[needs("read")])
REFRESH_S = 5
"""Seconds until a browser without JavaScript reads the page of a running campaign again."""
OVER = format_sse_event(data_str="", event="over")
"""Tells a page that nothing more will come."""
PAUSE_S = 1.0
"""Seconds between two times that a page is sent what is new."""
LOOK_S = 2.0
"""Seconds after which a page is looked at without an event: the model may have been asked, and time goes by."""


def _pages(request: Request) -> LivePages:
    pages = request.app.state.pages
    assert isinstance(pages, LivePages)  # noqa: S101 - made before the first request
    return pages


Pages = Annotated[LivePages, Depends(_pages)]


@router.get("/campaigns/{name}", dependencies=[Depends(no_query)])
async def campaign_page(
    request: Request, pages: Pages, answers: KeptAnswers, store: OpenStore, starting: Starting, name: CampaignName
) -> Response:
    """Show one campaign."""
    try:
        page = await answers.read(lambda: pages.of(name).parts())
    except UnknownStudyError:
        made = await answers.read(lambda: check_address(store, name))
        if made is not None:
            return RedirectResponse(made, 303)
        return await run_in_threadpool(waiting_page, request, store, name, starting)
    entry = await answers.read(lambda: store.queue.find(name))
    caller = caller_of(request)
    values: dict[str, Any] = {
        "may_change": entry is not None and may_change(entry, caller),
        "admin": caller.scope.covers(AccessScope.ADMIN),
        "like": entry and like(entry, caller),
        "address": address_of(name),
        "csrf": csrf_field(request),
        "page": page,
        "name": name,
        "links": links_of(name),
        "live": f"{address_of(name)}/live?seen={'.'.join(page.marks.values())}",
        "refresh_s": REFRESH_S,
    }
    return HTMLResponse(rendered("campaign/page.html.j2", **values), headers=FILLED_HEADERS)


@router.get("/campaigns/{name}/live", response_class=EventStream, status_code=200)
async def live_parts(
    request: Request,
    pages: Pages,
    answers: KeptAnswers,
    reader: Reading,
    name: CampaignName,
    seen: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Send the parts of a campaign's page that have changed, until it ends.

    Args:
        seen: marks of the parts that the page has.
    """
    page = await run_in_threadpool(pages.of, name)
    with ExitStack() as stack:
        stack.enter_context(reader.seat(caller_of(request).name))
        feed = await run_in_threadpool(stack.enter_context, reader.campaign(name))
        woken = asyncio.Event()
        feed.waiting.add(woken)
        stack.callback(feed.waiting.discard, woken)
        sent = _sent(page, answers, woken, reader, set(seen.split(".")))
        return EventStream(sent, stack.pop_all().close, partial(still_admitted, request))


async def _sent(
    page: LivePage, answers: Answers, woken: asyncio.Event, reader: LiveReader, seen: set[str]
) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS)
    quiet_s = 0.0
    while not reader.draining:
        woken.clear()
        try:
            parts = await answers.read(lambda: page.parts(looks_again=True))
        except UnknownStudyError:
            yield OVER
            return
        except ResultsError:  # the database is away
            await asyncio.sleep(LOOK_S)
            continue
        changed = [name for name, mark in parts.marks.items() if mark not in seen]
        for name in changed:
            yield format_sse_event(data_str=parts.html[name], event=name)
        seen = set(parts.marks.values())
        if not parts.goes_on:
            yield OVER
            return
        quiet_s = 0.0 if changed else quiet_s + LOOK_S
        if quiet_s >= HEARTBEAT_S:
            yield KEEPALIVE_COMMENT
            quiet_s = 0.0
        await _pause(woken, reader)


async def _pause(woken: asyncio.Event, reader: LiveReader) -> None:
    """Wait a little, and then for an event, but not for long."""
    if not reader.draining:
        await asyncio.sleep(PAUSE_S)
    try:
        await asyncio.wait_for(woken.wait(), LOOK_S - PAUSE_S)
    except TimeoutError:
        return
