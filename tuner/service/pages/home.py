"""The first page: its addresses, and what it shows of machines and campaigns."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store
from results.store.study_list import Place, StudiesAsked

from ...commands.stored.show import list_campaigns
from ...engines.registry import descriptions
from ...errors import UsageError
from ...messages.campaigns import AskedQuery, CampaignStanding, Cursor, standing
from ...messages.plain_paths import without_paths
from ...reports.lists import StudyLine
from ..api.campaigns import Word
from ..api.cursors import campaign_cursor, campaign_place
from ..authentication import needs
from ..cache import Answers
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from ..campaigns.kinds.base import node_set
from ..campaigns.offered import Offers
from ..campaigns.wrong import WrongDocumentError
from ..parts import Parts
from ..problems import Problem
from .campaign.digest import growth_of
from .campaign.live_page import time_left
from .queue import first_of, on_nodes, waiting_now
from .rendering import FILLED_HEADERS, rendered
from .site import kept_page, page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])
REFRESH_S = 15
"""Seconds until a browser without JavaScript reads the page again while something runs or waits."""
LOOK_S = 5
"""Seconds after which one with JavaScript does."""

SHOWN = 50
"""Campaigns of a page."""

Names = Annotated[list[Word], Field(default_factory=list, max_length=SHOWN)]


class HomeQuery(AskedQuery):
    """Filters of the list; a field that is left empty filters nothing."""

    name: Word = ""
    tag: Word = ""
    by: Word = ""
    state: Literal[""] | CampaignStanding = ""
    space: Word = ""
    engine: Word = ""
    simulated: Literal["", "yes", "no"] = ""
    cursor: Cursor | None = None
    studies: Names

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {key: text for key, text in self.model_dump(exclude={"cursor", "studies"}).items() if text}

    def asked(self) -> StudiesAsked:
        """What to list."""
        return StudiesAsked(
            before=campaign_place(self.cursor) if self.cursor else None,
            stands=self.state or None,
            engine=self.engine or None,
            space=self.space or None,
            named=self.name or None,
            tagged=self.tag or None,
            by=self.by or None,
            simulated=None if not self.simulated else self.simulated == "yes",
        )


Asked = Annotated[HomeQuery, Query()]


class CompareQuery(AskedQuery):
    """What to compare."""

    studies: Names


ComparedStudies = Annotated[CompareQuery, Query()]

MOST_WAITING, MOST_RUNNING, LAST = 25, 6, 4
"""Campaigns that wait, that run, and that ended last: so many are shown."""

MOST_NODES = 4
"""Of a cluster that are named."""


@router.get("/")
async def home(request: Request, parts: Parts, query: Asked) -> HTMLResponse:
    """Show machines, the queue and campaigns."""
    part = await parts.answers.of_all(request, lambda: board(parts.store, parts.offered, parts.answers, query))
    kept = {**query.filters, **({"cursor": query.cursor} if query.cursor else {})}
    values: dict[str, Any] = {
        "board": part.decode(),
        "query": query,
        "filtered": bool(query.filters),
        "polled": urlencode(kept),
        "goes_on": await parts.answers.read(lambda: goes_on(parts.store)),
        "states": [(one, one) for one in get_args(CampaignStanding)],
        "spaces": [(one, one) for one in parts.offered.space_names],
        "engines": [(one, one) for one in descriptions()],
        "refresh_s": REFRESH_S,
        "look_s": LOOK_S,
    }
    return page(request, "home/page.html.j2", **values)


@router.get("/board")
async def board_part(request: Request, parts: Parts, query: Asked) -> HTMLResponse:
    """Send the part of the first page that changes by itself."""
    part = await parts.answers.of_all(request, lambda: board(parts.store, parts.offered, parts.answers, query))
    return HTMLResponse(part, headers=FILLED_HEADERS)


@router.get("/compare")
async def compare(request: Request, parts: Parts, query: ComparedStudies) -> HTMLResponse:
    """Compare campaigns, or let people choose some."""
    names, wrong, status = list(dict.fromkeys(query.studies)), "", 200
    try:
        await parts.answers.read(lambda: require_comparable(parts.store, parts.answers, names))
        if len(names) > 1:
            return kept_page(request, (await parts.files.comparison(names)).decode())
    except Problem as error:
        if error.status_code not in {404, 422}:
            raise
        wrong, status = str(error.detail), error.status_code
    except UsageError as error:
        said = without_paths(str(error))
        wrong, status = f"{said[:1].upper()}{said[1:]}.", 422
    asked, store, answers = StudiesAsked(), parts.store, parts.answers
    part = await answers.of_all(
        request, lambda: rendered("home/newest.html.j2", rows=listed(store, answers, asked)[0], picked=names)
    )
    return page(request, "home/compare.html.j2", status, newest=part.decode(), wrong=wrong)


def require_comparable(store: Store, answers: Answers, names: Sequence[str]) -> None:
    """Refuse campaigns that cannot be compared.

    Raises:
        Problem: so it is; the sentence says what to do on the page.
    """
    for name in names:
        if not store.queue.is_study(name):
            raise Problem(404, f"There is no campaign {without_paths(name)} that has begun: tick others below.")
        if answers.line(store.study(name), store.lists.extent(name)).rates is None:
            raise Problem(422, f"Campaign {name} has no run that counts; its page tells what ran. Tick others below.")


Listed = tuple[StudyLine, str, str]
"""A campaign of the list, how it stands, and who handed it in; "" for a study of the command line."""


def board(store: Store, offered: Offers, answers: Answers, query: HomeQuery) -> str:
    """The part of the first page that changes by itself."""
    entries, at_work = store.queue.entries(OF_THE_QUEUE), store.queue.hosts_at_work()
    order = in_order(store, entries)
    first = {entry.name for entry in order[:MOST_WAITING]}
    paused = [entry for entry in entries if entry.state is QueueState.PAUSED]
    rows, older = listed(store, answers, query.asked())
    filtered = bool(query.filters or query.cursor)
    ended = [line for line, state, _ in rows if line.rates and state != "running"]
    running = [] if filtered else running_now(store, answers, entries, at_work)
    values: dict[str, Any] = {
        "running": running[:MOST_RUNNING],
        "more_running": len(running) - MOST_RUNNING,
        "last": [] if filtered else [(line, growth_of(answers.totals(line.study))) for line in ended[:LAST]],
        "machines": machines(offered, entries, at_work),
        "waiting": waiting_now(store, entries, order, first, offered.starts),
        "more_waiting": len(order) - MOST_WAITING,
        "paused": [*paused[:MOST_WAITING], *store.queue.ended_early()],
        "rows": rows,
        "picked": query.studies,
        "newest": f"/?{urlencode(query.filters)}" if query.cursor else None,
        "older": older and f"/?{urlencode({**query.filters, 'cursor': campaign_cursor(older)})}",
        "filtered": filtered,
    }
    return rendered("home/board.html.j2", **values)


def listed(store: Store, answers: Answers, asked: StudiesAsked) -> tuple[list[Listed], Place | None]:
    """Campaigns, newest first, and where older ones begin."""
    found = list_campaigns(store, answers.line, SHOWN, asked)
    entries = store.queue.of_names([line.study.name for line in found.lines])
    known = [(line, entries.get(line.study.name)) for line in found.lines]
    rows = [(one, standing(one.state, entry), entry.order.handed_in_by if entry else "") for one, entry in known]
    return rows, found.older


def running_now(
    store: Store, answers: Answers, entries: Sequence[CampaignEntry], at_work: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """What runs: its name, where and for whom, and of its study its line, how it grew, and what is left.

    Args:
        entries: those that run, and others, which are passed over.
        at_work: names of studies that somebody works on, each with the host of that process.
    """
    where = {name: f"started in a terminal of {host}" for name, host in at_work}
    for entry in entries:
        if entry.state is QueueState.RUNNING:
            where[entry.name] = (
                f"started by {entry.order.handed_in_by}, on {', '.join(first_of(entry.order.node_set, MOST_NODES))}"
            )
    return [{"name": name, "where": told, **_running(store, answers, name)} for name, told in where.items()]


def _running(store: Store, answers: Answers, name: str) -> dict[str, Any]:
    if not store.queue.is_study(name):
        return {}
    study, newest = store.study(name), store.newest_records(name, 1)
    totals, now, session = answers.totals(study), datetime.now(UTC), newest[0].session if newest else 0
    left, left_s = time_left(study, totals, now, session)
    whole_s = totals.machine_s + max(0.0, left_s or 0.0)
    return {
        "line": answers.line(study, store.lists.extent(name)),
        "growth": growth_of(totals),
        "left": left,
        "percent": None if left_s is None or not whole_s else round(100 * totals.machine_s / whole_s),
    }


def goes_on(store: Store) -> bool:
    """Whether the first page changes by itself: something runs or waits."""
    counts, _ = store.queue_counts()
    return any(counts.get(state) for state in OF_THE_QUEUE) or bool(store.queue.hosts_at_work())


OfferedMachine = tuple[str, str, Sequence[str], str]
"""A machine or a cluster, names of its nodes, what works there now, and why it cannot be used; "" where it can."""


def machines(
    offered: Offers, entries: Sequence[CampaignEntry], at_work: Sequence[tuple[str, str]]
) -> list[OfferedMachine]:
    """Tell of this machine, and of the clusters in the service's file.

    Args:
        entries: those that run, and others, which are passed over.
        at_work: names of studies that somebody works on, each with the host of that process.
    """
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    here = platform.node()
    busy = [*on_nodes(running, (here,)), *(name for name, host in at_work if host == here)]
    clusters = (_cluster(name, offered, running) for name in sorted(offered.clusters))
    return [(f"{here} (this machine)", "", list(dict.fromkeys(busy)), ""), *clusters]


def _cluster(name: str, offered: Offers, running: Sequence[CampaignEntry]) -> OfferedMachine:
    try:
        nodes = node_set(name, offered)
    except WrongDocumentError as error:
        return name, "", (), error.sentence
    if nodes == (platform.node(),):
        busy = [entry.name for entry in running if entry.order.document.get("cluster") == name]
        return name, "simulated here", busy, ""
    return name, ", ".join(first_of(nodes, MOST_NODES)), on_nodes(running, nodes), ""
