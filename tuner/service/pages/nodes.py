"""Pages of checks of nodes: their addresses, the part that changes while a check goes on, and the map of the nodes."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from results.errors import ResultsError
from results.node_check import BENCHMARKS
from results.report.html import to_html
from results.report.model import Sentence, Table
from results.store.node_checks import NodeCheckState
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...messages.plain_paths import without_paths
from ...nodes.figures import moment, node_scores, standing
from ...nodes.keeping import ShownCheck, show_check
from ...nodes.statistics.verdict import ReadinessVerdict
from ...words import all_with_options, counted
from ..api.handed_in import read_document
from ..api.node_checks import CheckNumber, require_check
from ..api.queue_access import OpenQueue
from ..authentication import needs
from ..callers import caller_of
from ..campaigns.wrong import WrongDocumentError
from ..forms import Form, csrf_field
from ..live.routes import KnownMarks
from ..live.stream import ALIVE, ALIVE_S, RETRY_MS, EventStream
from ..parts import Parts, ServiceParts, no_query
from ..problems import Problem
from .frames import FRAME, address_of
from .queue import Buttons, buttons_of, may_change, why_failed
from .rendering import rendered
from .site import kept_page, page

router = APIRouter(include_in_schema=False, dependencies=[needs("read")])
LISTED = 100
LOOK_S = 1.0
"""Seconds between two looks at a check that goes on."""
REFRESH_S = 5
"""Seconds until a browser without JavaScript reads the page of a check that goes on again."""
OVER = format_sse_event(data_str="", event="over")

SHADES = 9
"""Colours, from the worst to the best."""
LEAST_SPREAD = 5.0
"""A node that is so many percent below the median has the lightest colour, unless another one is worse."""
WIDEST, NAMED = 24, 64
"""Nodes in a row at most; the largest cluster whose cells show names."""


@router.get("/node-checks", dependencies=[Depends(no_query)])
async def checks_page(request: Request, parts: Parts) -> HTMLResponse:
    """List checks of nodes, and start one."""
    lines = await parts.answers.read(lambda: parts.store.node_checks.lines(count=LISTED))
    rows = [(line, moment(line.checked_at), standing(line)) for line in lines]
    clusters = sorted(parts.offered.clusters)
    return page(request, "nodes/list.html.j2", rows=rows, clusters=clusters, csrf=csrf_field(request))


@router.post("/node-checks", dependencies=[needs("run")])
def start_check(request: Request, queue: OpenQueue, sent: Form) -> Response:
    """Start a check of nodes; its campaign's page leads to it."""
    document = read_document({"kind": "nodes", "cluster": sent.get("cluster") or None})
    try:
        entry = queue.hand_in(document)
    except WrongDocumentError as error:
        raise Problem(422, f"{error.path}: {without_paths(error.sentence)}.") from error
    request.state.target = entry.name
    return RedirectResponse(address_of(entry.name), 303)


@router.get("/node-checks/{number}", dependencies=[Depends(no_query)])
async def check_page(request: Request, parts: Parts, number: CheckNumber) -> HTMLResponse:
    """Show one check."""
    store, read = parts.store, parts.answers.read
    await read(lambda: require_check(store, number))
    part = await read(lambda: check_part(store, number))
    line = await read(lambda: store.node_checks.line(number))
    entry = await read(lambda: store.queue.find(line.campaign or ""))
    return page(
        request,
        "nodes/page.html.j2",
        part=part,
        line=line,
        live=f"/node-checks/{number}/live?seen={part.mark}",
        refresh_s=REFRESH_S,
        csrf=csrf_field(request),
        change=f"{address_of(entry.name)}/do" if entry and may_change(entry, caller_of(request)) else None,
        admin=caller_of(request).scope.covers(AccessScope.ADMIN),
        by=entry.order.handed_in_by if entry else "",
    )


@router.get("/node-checks/{number}/report", dependencies=[Depends(no_query)])
async def check_report(request: Request, parts: Parts, number: CheckNumber) -> HTMLResponse:
    """Show the report of a check with all figures."""
    await parts.answers.read(lambda: require_check(parts.store, number))
    text = await parts.answers.of_all(request, lambda: _report(parts.store, number))
    return kept_page(request, text.decode())


def _report(store: Store, number: int) -> str:
    page = show_check(store, str(number)).page()
    links = (("All checks of nodes", "/node-checks"), (f"Check {number}", f"/node-checks/{number}"))
    return to_html([all_with_options(page)], frame=replace(FRAME, links=links))


@router.get("/node-checks/{number}/live", response_class=EventStream, status_code=200)
async def live_check(request: Request, parts: Parts, number: CheckNumber, known: KnownMarks) -> Response:
    """Send what a check has found out, as soon as it is kept, until nothing more can change."""
    await parts.answers.read(lambda: require_check(parts.store, number))
    with ExitStack() as stack:
        stack.enter_context(parts.live.seat(caller_of(request).name))
        await run_in_threadpool(stack.enter_context, parts.live.watched(None))  # it counts as one who watches
        sent = _sent(parts, number, known)
        return EventStream(sent, stack.pop_all().close, partial(parts.authenticator.still_admits, request))


async def _sent(parts: ServiceParts, number: int, seen: str) -> AsyncIterator[bytes]:
    store, read = parts.store, parts.answers.read
    yield format_sse_event(retry=RETRY_MS)
    told_s, version = -ALIVE_S, ""
    while not parts.live.draining:
        now = await read(store.lists.version)
        if now != version or time.monotonic() - told_s >= ALIVE_S:
            try:
                part = await read(lambda: check_part(store, number))
            except ResultsError:  # the database is away
                await asyncio.sleep(LOOK_S)
                continue
            if part.mark != seen:
                yield format_sse_event(data_str=part.html, event="check")
                yield format_sse_event(data_str=part.buttons, event="buttons")
            yield format_sse_event(data_str=ALIVE, event=ALIVE, id=part.mark)
            if not part.goes_on:
                yield OVER
                return
            seen, version, told_s = part.mark, now, time.monotonic()
        await asyncio.sleep(LOOK_S)


@dataclass(frozen=True)
class CheckPart:
    """What a page shows of a check.

    Attributes:
        html: what changes; `buttons` those of its campaign, inside a form. Neither is ever empty.
        mark: a hash of both.
        goes_on: it may change by itself.
    """

    html: str
    buttons: str
    mark: str
    goes_on: bool


def check_part(store: Store, number: int) -> CheckPart:
    """Read a check and show it.

    Raises:
        ResultsError: there is none, or it is damaged.
    """
    shown = show_check(store, str(number))
    campaign = shown.line.campaign
    entry = None if campaign is None else store.queue.find(campaign)
    at_work = campaign is None or (entry is not None and entry.state is QueueState.RUNNING)
    running = shown.line.state is NodeCheckState.RUNNING and at_work  # of the command line nobody knows
    changes = running or (entry is not None and _may_begin_anew(store, shown, entry))
    buttons = buttons_of(entry) if entry and changes else Buttons()
    report = shown.report()
    told = [part for part in report.parts if isinstance(part, Sentence)][1:]
    failed = why_failed(entry) if entry is not None and entry.state is QueueState.FAILED else ""
    html = rendered(
        "nodes/check.html.j2",
        line=shown.line,
        moment=moment(shown.line.checked_at),
        asked=buttons.asked,
        headline=_headline(shown, told, running=running),
        failed=failed,
        told=[  # the verdict is the headline, once all is measured
            (one.tone.value, without_paths(one.text)) for one in told[1:]
        ],
        map=node_map(shown.result.verdict),
        tables=[one for one in report.parts if isinstance(one, Table)],
    )
    pressed = f"<div>{rendered('queue/buttons.html.j2', buttons=buttons)}</div>"
    return CheckPart(html, pressed, sha256((html + pressed).encode()).hexdigest()[:12], changes)


def _may_begin_anew(store: Store, shown: ShownCheck, entry: CampaignEntry) -> bool:
    """Whether a check was stopped whose campaign can make another one, and has not done so yet."""
    if shown.line.state is NodeCheckState.COMPLETE or entry.state is QueueState.DONE:
        return False
    return store.node_checks.lines(count=1, campaign=entry.name)[0].number == shown.line.number


def _headline(shown: ShownCheck, told: list[Sentence], *, running: bool) -> str:
    check = shown.result.verdict.check
    if running:
        done = [BENCHMARKS[name].title for name in shown.result.verdict.results]
        last = f", last {done[-1]}" if done else ""
        verb = "is" if len(check.nodes) == 1 else "are"
        return f"{counted(len(check.nodes), 'node')} {verb} measured: {counted(len(done), 'benchmark')} so far{last}."
    if shown.line.state is not NodeCheckState.COMPLETE:
        return "This check was stopped; what it had measured until then:"
    return told[0].text if told else ""


NodeCell = tuple[str, str, int | None, str]
"""A node of the map, how far it is from the median or what else is known, the shade of its colour, and all in words."""


def node_map(verdict: ReadinessVerdict) -> dict[str, object]:
    """Draw all nodes of a check, a row after the other; small clusters have names in their cells."""
    nodes, scores = verdict.check.nodes, node_scores(verdict)
    low = min([-LEAST_SPREAD, *(score for score in scores.values())])
    cells = [_cell(node, verdict, scores, low) for node in nodes]
    wide = min(WIDEST, max(1, math.isqrt(len(nodes) - 1) + 1)) if nodes else 1
    rows = tuple(tuple(cells[first : first + wide]) for first in range(0, len(cells), wide))
    return {"rows": rows, "low": _percent(low), "named": len(nodes) <= NAMED}


def _cell(node: str, verdict: ReadinessVerdict, scores: Mapping[str, float], low: float) -> NodeCell:
    score = scores.get(node)
    if node in verdict.out or node in verdict.check.silent:
        return node, "out", None, f"{node}: out"
    if score is None:
        return node, "…", None, f"{node}: not measured yet"
    shade = min(SHADES - 1, int(max(0.0, 1.0 - score / low) * SHADES))
    slow = ", slow" if node in verdict.slow else ""
    return node, _percent(score), shade, f"{node}: {_percent(score)} % from the median{slow}"


def _percent(value: float) -> str:
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if abs(value) >= 0.05 else "0"
