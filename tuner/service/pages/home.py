"""The first page: its addresses, and what it shows of machines and campaigns."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store
from results.store.study_list import StudiesAsked

from ...commands.stored.show import LineOf, list_campaigns
from ...engines.registry import descriptions
from ...errors import UsageError
from ...messages.campaigns import AskedQuery, CampaignStanding, Cursor, standing
from ...messages.plain_paths import without_paths
from ...reports.lists import StudyLine
from ..api.campaigns import Word
from ..api.cursors import campaign_cursor, campaign_place
from ..authentication import needs
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from ..campaigns.kinds.base import node_set
from ..campaigns.offered import Offers
from ..campaigns.wrong import WrongDocumentError
from ..parts import Parts
from ..problems import Problem
from .frames import address_of
from .queue import TIME, waiting_now
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

FILTERS = ("name", "tag", "by", "state", "space", "engine", "simulated")


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
        return {key: text for key, text in self.model_dump(include=set(FILTERS)).items() if text}

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

MOST_WAITING = 25
"""Campaigns of the queue that are shown."""

MOST_NODES = 4
"""Of a cluster that are named."""
STATES: Sequence[str] = get_args(CampaignStanding)


@router.get("/")
async def home(request: Request, parts: Parts, query: Asked) -> HTMLResponse:
    """Show machines, the queue and campaigns."""
    offered, answers = parts.offered, parts.answers
    part = await answers.of_all(request, lambda: board(parts.store, offered, answers.line, query))
    kept = {**query.filters, **({"cursor": query.cursor} if query.cursor else {})}
    values: dict[str, Any] = {
        "board": part.decode(),
        "query": query,
        "filtered": bool(query.filters),
        "polled": urlencode(kept),
        "goes_on": await answers.read(lambda: goes_on(parts.store)),
        "states": [(one, one) for one in STATES],
        "spaces": [(one, one) for one in offered.space_names],
        "engines": [(one, one) for one in descriptions()],
        "refresh_s": REFRESH_S,
        "look_s": LOOK_S,
    }
    return page(request, "home/page.html.j2", **values)


@router.get("/board")
async def board_part(request: Request, parts: Parts, query: Asked) -> HTMLResponse:
    """Send the part of the first page that changes by itself."""
    answers = parts.answers
    part = await answers.of_all(request, lambda: board(parts.store, parts.offered, answers.line, query))
    return HTMLResponse(part, headers=FILLED_HEADERS)


@router.get("/compare")
async def compare(request: Request, parts: Parts, query: ComparedStudies) -> HTMLResponse:
    """Compare campaigns, or let people choose some."""
    names, wrong, status = list(dict.fromkeys(query.studies)), "", 200
    try:
        if names:
            await parts.answers.read(lambda: require_comparable(parts.store, parts.answers.line, names))
            return kept_page(request, (await parts.files.comparison(names)).decode())
    except Problem as error:
        if error.status_code not in {404, 422}:
            raise
        wrong, status = str(error.detail), error.status_code
    except UsageError as error:
        wrong, status = _sentence(error), 422
    rows = await parts.answers.read(lambda: comparable(parts.store, parts.answers.line))
    return page(request, "home/compare.html.j2", status, rows=rows, picked=names, wrong=wrong, address_of=address_of)


def require_comparable(store: Store, line_of: LineOf, names: Sequence[str]) -> None:
    """Refuse campaigns that cannot be compared.

    Raises:
        Problem: so it is; the sentence says what to do on the page.
    """
    for name in names:
        if not store.queue.is_study(name):
            raise Problem(404, f"There is no campaign {without_paths(name)} that has begun: tick others below.")
        if line_of(store.study(name), store.lists.extent(name)).rates is None:
            raise Problem(422, f"Campaign {name} has no run that counts; its page tells what ran. Tick others below.")
    if len(names) < 2:
        raise Problem(422, f"Campaign {names[0]} cannot be compared with itself: tick another one, too.")


def _sentence(error: Exception) -> str:
    said = without_paths(str(error))
    return f"{said[:1].upper()}{said[1:]}."


@dataclass(frozen=True)
class CampaignRow:
    """A line of the list.

    Attributes:
        at, when: it began, for programs and for people.
        state: how the campaign stands, in the queue where that tells more than its study.
        how: its rates came about, as "measured".
        by: who handed it in; "" for a study of the command line.
        fastest, expected: GFLOPS of the fastest run, and of one more run of no. 1 where that was estimated.
    """

    name: str
    at: str
    when: str
    state: str
    space: str
    engine: str
    trials: int
    failed: int
    how: str
    fastest: str
    expected: str
    tags: tuple[str, ...]
    by: str


def board(store: Store, offered: Offers, line_of: LineOf, query: HomeQuery) -> str:
    """The part of the first page that changes by itself."""
    entries = store.queue.entries(OF_THE_QUEUE)
    order = in_order(store, entries)
    first = {entry.name for entry in order[:MOST_WAITING]}
    found = list_campaigns(store, line_of, SHOWN, query.asked())
    handed_in = store.queue.of_names([line.study.name for line in found.lines])
    values: dict[str, Any] = {
        "machines": machines(offered, entries, store.queue.hosts_at_work()),
        "waiting": waiting_now(store, entries, order, first, offered.starts),
        "more_waiting": len(order) - MOST_WAITING,
        "paused": [entry for entry in entries if entry.state is QueueState.PAUSED][:MOST_WAITING],
        "early": store.queue.ended_early(),
        "rows": [_row(line, handed_in.get(line.study.name)) for line in found.lines],
        "picked": query.studies,
        "newest": f"/?{urlencode(query.filters)}" if query.cursor else None,
        "older": found.older and f"/?{urlencode({**query.filters, 'cursor': campaign_cursor(found.older)})}",
        "filtered": bool(query.filters or query.cursor),
        "address_of": address_of,
    }
    return rendered("home/board.html.j2", **values)


def comparable(store: Store, line_of: LineOf) -> list[CampaignRow]:
    """The newest campaigns, among which people choose what to compare."""
    found = list_campaigns(store, line_of, SHOWN, StudiesAsked())
    handed_in = store.queue.of_names([line.study.name for line in found.lines])
    return [_row(line, handed_in.get(line.study.name)) for line in found.lines]


def goes_on(store: Store) -> bool:
    """Whether the first page changes by itself: something runs or waits."""
    counts, _ = store.queue_counts()
    return any(counts.get(state) for state in OF_THE_QUEUE) or bool(store.queue.hosts_at_work())


def _row(line: StudyLine, entry: CampaignEntry | None) -> CampaignRow:
    rates = line.rates
    study, tally = line.study, line.tally
    stands = standing(line.state, entry)
    return CampaignRow(
        study.name,
        study.created_at.isoformat(),
        study.created_at.strftime(TIME),
        stands,
        without_paths(study.space_name),
        study.engine,
        tally.trials,
        tally.failed,
        study.how,
        "" if rates is None else rates.fastest_text,
        "" if rates is None else rates.expected_text(),
        study.notes.tags,
        "" if entry is None else entry.order.handed_in_by,
    )


@dataclass(frozen=True)
class MachineView:
    """A machine or a cluster that the service offers.

    Attributes:
        nodes: names of its nodes; "" for this machine itself.
        busy: campaigns that work there now; nobody where it is free.
        others: studies of the command line that do.
        wrong: why it cannot be used; "" where it can.
    """

    name: str
    nodes: str
    busy: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    wrong: str = ""


def machines(
    offered: Offers, entries: Sequence[CampaignEntry], at_work: Sequence[tuple[str, str]]
) -> list[MachineView]:
    """Tell of this machine, and of the clusters in the service's file.

    Args:
        entries: those that run, and others, which are passed over.
        at_work: names of studies that somebody works on, each with the host of that process.
    """
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    here = platform.node()
    known = {entry.name for entry in running}
    others = tuple(dict.fromkeys(name for name, host in at_work if host == here and name not in known))
    found = [MachineView(f"{here} (this machine)", "", _busy(running, (here,)), others)]
    return [*found, *(_cluster(name, offered, running) for name in sorted(offered.clusters))]


def _cluster(name: str, offered: Offers, running: Sequence[CampaignEntry]) -> MachineView:
    try:
        nodes = node_set(name, offered)
    except WrongDocumentError as error:
        return MachineView(name, "", wrong=error.sentence)
    if nodes == (platform.node(),):
        return MachineView(
            name, "simulated here", tuple(e.name for e in running if e.order.document.get("cluster") == name)
        )
    more = len(nodes) - MOST_NODES
    named = ", ".join([*nodes[:MOST_NODES], *([f"{more} more"] if more > 0 else [])])
    return MachineView(name, named, _busy(running, nodes))


def _busy(running: Sequence[CampaignEntry], nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry.name for entry in running if set(nodes) & set(entry.order.node_set))
