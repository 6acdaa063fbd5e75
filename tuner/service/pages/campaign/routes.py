"""Addresses of the live page of a campaign."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from results.errors import ResultsError, UnknownStudyError
from results.store.service.tokens import AccessScope

from ....reports.context import TABS, machine_words, moment
from ...api.trials import Number
from ...authentication import needs
from ...callers import caller_of
from ...forms import csrf_field
from ...live.routes import KnownMarks
from ...live.stream import ALIVE, ALIVE_S, RETRY_MS, EventStream
from ...parts import CampaignName, Parts, ServiceParts, no_query
from ..frames import OF_ALL_TRIALS, address_of
from ..queue import like, may_change
from ..rendering import FILLED_HEADERS, rendered
from ..site import kept_page
from ..site import page as whole_page
from ..waiting import check_address, waiting_page
from .live_page import STATES, LivePage, part

router = APIRouter(include_in_schema=False, dependencies=[needs("read")])
REFRESH_S = 5
"""Seconds until a browser without JavaScript reads the page of a running campaign again."""
OVER = format_sse_event(data_str="", event="over")
"""Tells a page that nothing more will come."""
REMOVED = {
    "headline": rendered("campaign/headline.html.j2", text=STATES["removed"], state="removed", digest=None),
    "queue": "",
    "buttons": "",
    "log": "",
}
"""What parts say that would not be true of a campaign that is gone."""
PAUSE_S = 1.0
"""Seconds between two times that a page is sent what is new."""
LOOK_S = 2.0
"""Seconds after which a page is looked at without an event: the model may have been asked, and time goes by."""


@router.get("/campaigns/{name}", dependencies=[Depends(no_query)])
async def campaign_page(request: Request, parts: Parts, name: CampaignName) -> Response:
    """Show one campaign."""
    read, store = parts.answers.read, parts.store
    try:
        page = await read(lambda: parts.pages.of(name).parts())
    except UnknownStudyError:
        made = await read(lambda: check_address(store, name))
        if made is not None:
            return RedirectResponse(made, 303)
        return await run_in_threadpool(waiting_page, request, parts, name)
    entry = await read(lambda: store.queue.find(name))
    caller = caller_of(request)
    values: dict[str, Any] = {
        "may_change": entry is not None and may_change(entry, caller),
        "admin": caller.scope.covers(AccessScope.ADMIN),
        "like": like(entry, caller) if entry else (),
        "by": entry.order.handed_in_by if entry else "",
        "address": address_of(name),
        "csrf": csrf_field(request),
        "page": page,
        "name": name,
        "live": f"{address_of(name)}/live?seen={'.'.join(page.marks.values())}",
        "refresh_s": REFRESH_S,
        "about": f"{machine_words(page.study)}; begun {moment(page.study.created_at)} UTC",
        "note": page.study.notes.note,
        "tags": page.study.notes.tags,
        "tabs": [(tab, title) for tab, title in TABS.items() if tab != "memory" or page.study.notes.whole_memory],
        "files": OF_ALL_TRIALS,
        "logged": entry is not None,
    }
    return whole_page(request, "campaign/page.html.j2", **values)


@router.get("/campaigns/{name}/trials/{number}", dependencies=[Depends(no_query)])
async def trial_page(request: Request, parts: Parts, name: CampaignName, number: Number) -> HTMLResponse:
    """Show one trial of a campaign."""
    await parts.answers.read(lambda: parts.store.get(name, number))
    return kept_page(request, (await parts.files.trial(name, number)).decode())


@router.get("/campaigns/{name}/tabs/{tab}", dependencies=[Depends(no_query)])
async def tab_part(parts: Parts, name: CampaignName, tab: Literal[*TABS]) -> HTMLResponse:  # type: ignore[valid-type]
    """Send what a tab of a campaign's page shows, which takes a moment to be made."""
    return HTMLResponse((await parts.files.tab(name, tab)).decode(), headers=FILLED_HEADERS)


@router.get("/campaigns/{name}/live", response_class=EventStream, status_code=200)
async def live_parts(request: Request, parts: Parts, name: CampaignName, known: KnownMarks) -> Response:
    """Send the parts of a campaign's page that have changed, until nothing more can."""
    page = await run_in_threadpool(parts.pages.of, name)
    with ExitStack() as stack:
        stack.enter_context(parts.live.seat(caller_of(request).name))
        feed = await run_in_threadpool(stack.enter_context, parts.live.watched(name))
        woken = asyncio.Event()
        feed.waiting.add(woken)
        stack.callback(feed.waiting.discard, woken)
        sent = _sent(page, parts, woken, set(known.split(".")))
        return EventStream(sent, stack.pop_all().close, partial(parts.authenticator.still_admits, request))


async def _sent(page: LivePage, service: ServiceParts, woken: asyncio.Event, seen: set[str]) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS)
    told_s = -ALIVE_S
    while not service.live.draining:
        woken.clear()
        try:
            parts = await service.answers.read(lambda: page.parts(looks_again=True))
        except UnknownStudyError:
            for name, text in REMOVED.items():
                yield format_sse_event(data_str=part(name, text), event=name)
            yield OVER
            return
        except ResultsError:  # the database is away
            await asyncio.sleep(LOOK_S)
            continue
        changed = [name for name, mark in parts.marks.items() if mark not in seen]
        for name in changed:
            yield format_sse_event(data_str=parts.html[name], event=name)
        seen = set(parts.marks.values())
        if changed or time.monotonic() - told_s >= ALIVE_S:
            yield format_sse_event(data_str=ALIVE, event=ALIVE, id=".".join(parts.marks.values()))
            told_s = time.monotonic()
        if not parts.goes_on:
            yield OVER
            return
        await _pause(woken, service)


async def _pause(woken: asyncio.Event, service: ServiceParts) -> None:
    """Wait a little, and then for an event, but not for long."""
    if not service.live.draining:
        await asyncio.sleep(PAUSE_S)
    try:
        await asyncio.wait_for(woken.wait(), LOOK_S - PAUSE_S)
    except TimeoutError:
        return
