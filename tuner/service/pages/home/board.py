"""What the first page shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from results.metrics import rate_text
from results.store.service.campaign_entry import QueueState
from results.store.store import Store

from ....commands.stored.campaigns import CampaignsRequest, LineOf, list_campaigns
from ....engines.registry import descriptions
from ....reports.studies import StudyLine
from ...api.cursors import campaign_cursor
from ...api.desk import OF_THE_QUEUE
from ...campaigns.fair_order import in_order
from ...campaigns.offered import Offered
from ..filled import rendered
from ..frames import address_of
from ..queue.standing import TIME, waiting_now
from .asked import SHOWN, STATES, HomeQuery
from .machines import machines

MOST_WAITING = 25
"""Campaigns of the queue that are shown, and of those that ended before they began."""
ENDED_EARLY = (QueueState.FAILED, QueueState.CANCELLED)


@dataclass(frozen=True)
class CampaignRow:
    """A line of the list.

    Attributes:
        state: how the campaign stands, in the queue where that tells more than its study.
    """

    name: str
    when: str
    state: str
    space: str
    engine: str
    trials: int
    failed: int
    best: str


def board(store: Store, offered: Offered, line_of: LineOf, query: HomeQuery) -> str:
    """The part of the first page that changes by itself."""
    entries = store.queue.entries(OF_THE_QUEUE)
    order = in_order(store, entries)
    first = {entry.name for entry in order[:MOST_WAITING]}
    found = list_campaigns(store, query.request(), line_of)
    states = {entry.name: entry.state.value for entry in entries}
    early = store.queue.without_study(ENDED_EARLY, MOST_WAITING)
    values: dict[str, Any] = {
        "machines": machines(offered, entries, store.queue.hosts_at_work()),
        "waiting": waiting_now(store, entries, order, first),
        "more_waiting": len(order) - MOST_WAITING,
        "paused": [entry for entry in entries if entry.state is QueueState.PAUSED][:MOST_WAITING],
        "early": early,
        "rows": [_row(line, states) for line in found.lines],
        "picked": query.studies,
        "newest": _first_page(query) if query.cursor else None,
        "older": _older(found.older, query),
        "filtered": bool(query.filters or query.cursor),
        "address_of": address_of,
    }
    return rendered("home/board.html.j2", **values)


def compare_form(store: Store, line_of: LineOf, picked: Sequence[str], wrong: str) -> str:
    """The page where people choose what to compare.

    Args:
        wrong: what is wrong with those that are chosen; "" where nothing is.
    """
    found = list_campaigns(store, CampaignsRequest(SHOWN), line_of)
    rows = [_row(line, {}) for line in found.lines]
    return rendered("home/compare.html.j2", rows=rows, picked=picked, wrong=wrong, address_of=address_of)


def goes_on(store: Store) -> bool:
    """Whether the first page changes by itself: something runs or waits."""
    counts = store.queue_facts().counts
    return any(counts.get(state) for state in OF_THE_QUEUE) or bool(store.queue.hosts_at_work())


def filter_choices(offered: Offered) -> dict[str, Sequence[str]]:
    """What the filters let people choose from."""
    return {"state": STATES, "engine": tuple(descriptions()), "space": offered.space_names}


def _row(line: StudyLine, states: dict[str, str]) -> CampaignRow:
    best = "" if line.best_gflops is None else rate_text(line.best_gflops)
    study, tally = line.study, line.tally
    return CampaignRow(
        study.name,
        study.created_at.strftime(TIME),
        states.get(study.name, line.state),
        study.space_name,
        study.engine,
        tally.trials,
        tally.failed,
        best,
    )


def _first_page(query: HomeQuery) -> str:
    return f"/?{urlencode(query.filters)}" if query.filters else "/"


def _older(place: Any, query: HomeQuery) -> str | None:
    return f"/?{urlencode({**query.filters, 'cursor': campaign_cursor(place)})}" if place else None
