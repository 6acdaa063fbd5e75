"""Addresses of the pages of checks of nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.concurrency import run_in_threadpool

from results.errors import ResultsError
from results.report.html import Frame, to_html
from results.store.service.access import AccessScope
from results.store.store import Store

from ....commands.nodes.kept import show_check
from ....messages.documents import NodesDocument
from ....messages.plain_paths import without_paths
from ....reports.nodes.kept_list import moment, standing
from ...api.desk import AtDesk
from ...api.node_checks import CheckNumber, require_check
from ...campaigns.hand_in import HandIn, hand_in
from ...campaigns.wrong import WrongDocumentError
from ...identity.caller import caller_of, needs
from ...identity.forms import Form, csrf_field
from ...kept.answers import Answers, KeptAnswers
from ...live.reader import LiveReader
from ...live.routes import Reading, room_for_one
from ...live.stream import HEARTBEAT_S, RETRY_MS, EventStream
from ...opened import OpenStore, no_query
from ...problems import Problem
from ..filled import FILLED_HEADERS, rendered
from ..frames import PAGE_HEADERS, address_of
from ..queue.actions import may_change
from .check_part import check_part

router = APIRouter(include_in_schema=False, dependencies=[needs("read")])
LISTED = 100
LOOK_S = 1.0
"""Seconds between two looks at a check that goes on."""
REFRESH_S = 5
"""Seconds until a browser without JavaScript reads the page of a check that goes on again."""
OVER = format_sse_event(data_str="", event="over")


@router.get("/node-checks", dependencies=[Depends(no_query)])
async def checks_page(request: Request, desk: AtDesk, store: OpenStore, answers: KeptAnswers) -> HTMLResponse:
    """List checks of nodes, and start one."""
    lines = await answers.read(lambda: store.node_checks.lines(count=LISTED))
    rows = [(line, moment(line.checked_at), standing(line)) for line in lines]
    page = rendered(
        "nodes/list.html.j2",
        rows=rows,
        may_start=caller_of(request).scope.covers(AccessScope.RUN),
        clusters=sorted(desk.offered.clusters),
        csrf=csrf_field(request),
    )
    return HTMLResponse(page, headers=FILLED_HEADERS)


@router.post("/node-checks", dependencies=[needs("run")])
def start_check(desk: AtDesk, sent: Form) -> Response:
    """Start a check of nodes; its campaign's page leads to it."""
    document = NodesDocument.model_validate({"cluster": sent.get("cluster") or None})
    try:
        entry = hand_in(HandIn(document, desk.caller.name), desk.offered, desk.dispatcher.store)
    except WrongDocumentError as error:
        raise Problem(422, f"{error.path}: {without_paths(error.sentence)}.") from error
    desk.dispatcher.wake()
    return RedirectResponse(address_of(entry.name), 303)


@router.get("/node-checks/{number}", dependencies=[Depends(no_query)])
async def check_page(request: Request, store: OpenStore, answers: KeptAnswers, number: CheckNumber) -> HTMLResponse:
    """Show one check."""
    await answers.read(lambda: require_check(store, number))
    part = await answers.read(lambda: check_part(store, number))
    line = await answers.read(lambda: store.node_checks.line(number))
    entry = await answers.read(lambda: store.queue.find(line.campaign or ""))
    page = rendered(
        "nodes/page.html.j2",
        part=part,
        line=line,
        moment=moment(line.checked_at),
        live=f"/node-checks/{number}/live?seen={part.mark}",
        refresh_s=REFRESH_S,
        csrf=csrf_field(request),
        change=f"{address_of(entry.name)}/do" if entry and may_change(entry, caller_of(request)) else None,
    )
    return HTMLResponse(page, headers=FILLED_HEADERS)


@router.get("/node-checks/{number}/report", dependencies=[Depends(no_query)])
async def check_report(request: Request, store: OpenStore, answers: KeptAnswers, number: CheckNumber) -> HTMLResponse:
    """Show the report of a check with all figures."""
    await answers.read(lambda: require_check(store, number))
    text = await answers.of_all(request, lambda: _report(store, number))
    return HTMLResponse(text.decode(), headers=PAGE_HEADERS)


def _report(store: Store, number: int) -> str:
    page = show_check(store, str(number)).page()
    links = (("All checks of nodes", "/node-checks"), (f"Check {number}", f"/node-checks/{number}"))
    return to_html([page], frame=Frame(links))


@router.get("/node-checks/{number}/live", response_class=EventStream, status_code=200)
async def live_check(
    store: OpenStore,
    answers: KeptAnswers,
    reader: Reading,
    number: CheckNumber,
    seen: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Send what a check has found out, as soon as it is kept, until the check ends."""
    room_for_one(reader)
    await answers.read(lambda: require_check(store, number))
    with ExitStack() as stack:
        await run_in_threadpool(stack.enter_context, reader.all())  # it counts as one who watches
        return EventStream(_sent(store, answers, reader, number, seen), stack.pop_all().close)


async def _sent(store: Store, answers: Answers, reader: LiveReader, number: int, seen: str) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS)
    quiet_s, version = 0.0, ""
    while not reader.draining:
        now = await answers.read(store.lists.version)
        if now != version or quiet_s >= HEARTBEAT_S:
            try:
                part = await answers.read(lambda: check_part(store, number))
            except ResultsError:  # the database is away
                await asyncio.sleep(LOOK_S)
                continue
            if part.mark != seen:
                yield format_sse_event(data_str=part.html, event="check")
                yield format_sse_event(data_str=part.buttons, event="buttons")
            elif quiet_s >= HEARTBEAT_S:
                yield KEEPALIVE_COMMENT
            if not part.goes_on:
                yield OVER
                return
            seen, version, quiet_s = part.mark, now, 0.0
        await asyncio.sleep(LOOK_S)
        quiet_s += LOOK_S
