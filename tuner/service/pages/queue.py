"""How a campaign that was handed in stands, in words, and what may be done with it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from results.store.service.access import AccessScope
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.store import Store

from ...messages.plain_paths import without_paths
from ...words import listed
from ..authentication import Caller
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from ..campaigns.waiting import NodesTaken, Waiting, waiting
from .rendering import StatedFact

GOES_ON = frozenset(OF_THE_QUEUE)
"""States after which a page is looked at again."""
TIME = "%Y-%m-%d %H:%M UTC"

Starts = Callable[[CampaignEntry], bool]
"""Tells whether this service can start a campaign."""
_POSSIBLE: Mapping[QueueState, tuple[str, ...]] = {
    QueueState.QUEUED: ("pause", "cancel"),
    QueueState.RUNNING: ("pause", "cancel"),
    QueueState.PAUSED: ("resume", "cancel"),
    QueueState.FAILED: ("resume",),
    QueueState.CANCELLED: ("resume",),
    QueueState.DONE: (),
    QueueState.UNKNOWN: (),
}
_ASKED: Mapping[WantedState, str] = {
    WantedState.RUN: "",
    WantedState.PAUSE: "It pauses when its running trial has ended.",
    WantedState.CANCEL: "It is being cancelled: its running trial ends now.",
}


@dataclass(frozen=True)
class QueueStanding:
    """How a campaign stands.

    Attributes:
        headline: in a sentence or two.
        facts: who handed it in, and for which machines.
        document: what was asked.
        goes_on: this may change by itself.
    """

    headline: str
    facts: Sequence[StatedFact]
    document: Sequence[StatedFact]
    goes_on: bool


def standing_of(store: Store, entry: CampaignEntry, starts: Starts) -> QueueStanding:
    """Tell how a campaign stands that has no study yet."""
    order = entry.order
    facts = [
        StatedFact("Handed in", f"by {order.handed_in_by}, {entry.handed_in_at.strftime(TIME)}"),
        StatedFact("Works on", listed(list(order.node_set))),
        StatedFact("Priority", str(order.priority)),
    ]
    return QueueStanding(_headline(store, entry, starts), facts, _asked(order.document), entry.state in GOES_ON)


def waiting_now(
    store: Store,
    entries: Sequence[CampaignEntry],
    order: Sequence[CampaignEntry],
    asked: Collection[str],
    starts: Starts,
) -> list[Waiting]:
    """Say of campaigns that wait why they do.

    Args:
        entries: the whole queue.
        order: those that wait, in the order in which they are started.
        asked: names of those of which it is said.
        starts: tells whether this service can start a campaign.
    """
    running = {entry.name for entry in entries if entry.state is QueueState.RUNNING}
    others = [(host, name) for name, host in store.queue.hosts_at_work() if name not in running]
    return waiting(entries, order, NodesTaken(others, starts), asked)


def why_waits(store: Store, entry: CampaignEntry, starts: Starts) -> str:
    """Say of a campaign in the queue where it stands there and why it waits."""
    entries = store.queue.entries(OF_THE_QUEUE)
    found = waiting_now(store, entries, in_order(store, entries), {entry.name}, starts)
    return f"It is number {found[0].position} of the queue. {found[0].why}" if found else "It waits for its turn."


def why_failed(entry: CampaignEntry) -> str:
    """Say why a campaign failed."""
    return f"It failed: {without_paths(entry.reason) or 'its log tells why'}."


def begun_sentences(store: Store, entry: CampaignEntry, starts: Starts) -> list[str]:
    """What the queue adds to the page of a campaign that has a study."""
    if entry.state is QueueState.QUEUED:
        return [why_waits(store, entry, starts)]
    if entry.state is QueueState.FAILED:
        return [why_failed(entry)]
    asked = buttons_of(entry).asked
    return [asked] if asked else []


_STANDING = {
    QueueState.RUNNING: "It has begun: its machines are looked at, and HPL is built where that is needed.",
    QueueState.PAUSED: "It was paused before it began.",
    QueueState.CANCELLED: "It was cancelled before it began.",
    QueueState.DONE: "It is done.",
    QueueState.UNKNOWN: "How it stands is only known to a newer hpltune, which works on this database too.",
}
"""How a campaign stands that has no study."""


def _headline(store: Store, entry: CampaignEntry, starts: Starts) -> str:
    if entry.state is QueueState.QUEUED:
        return why_waits(store, entry, starts)
    return why_failed(entry) if entry.state is QueueState.FAILED else _STANDING[entry.state]


def _asked(document: Any) -> list[StatedFact]:
    values = {key: value for key, value in document.items() if key not in {"name", "set"}}
    return [StatedFact(key, _text(value)) for key, value in {**values, **document.get("set", {})}.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Buttons:
    """Buttons of a campaign's page.

    Attributes:
        shown: what each sends, and what stands on it.
        asked: what was asked and is not done yet, in a sentence; "" for nothing.
        elsewhere: the process on another machine that works on it, which admins may declare dead; "" for none.
    """

    shown: tuple[tuple[str, str], ...] = ()
    asked: str = ""
    elsewhere: str = ""


def buttons_of(entry: CampaignEntry) -> Buttons:
    """The buttons that change a campaign now."""
    possible, asked = _POSSIBLE[entry.state], ""
    if entry.state is QueueState.RUNNING and entry.wanted is not WantedState.RUN:
        possible = ("resume", "cancel") if entry.wanted is WantedState.PAUSE else ()
        asked = _ASKED[entry.wanted]
    lease = entry.owner if entry.state is QueueState.RUNNING else None
    elsewhere = f"process {lease.pid} on {lease.host}" if lease is not None and not lease.of_this_boot else ""
    return Buttons(tuple((do, do.capitalize()) for do in possible), asked, elsewhere)


def may_change(entry: CampaignEntry, caller: Caller) -> bool:
    """Whether somebody may press them."""
    own = entry.order.handed_in_by == caller.name
    return caller.scope.covers(AccessScope.RUN if own else AccessScope.ADMIN)


def like(entry: CampaignEntry, caller: Caller) -> str | None:
    """The address of the form filled in as a campaign was; None where it cannot be, or not by this person."""
    copies = entry.order.kind == "tune" and caller.scope.covers(AccessScope.RUN)
    return f"/new?from={quote(entry.name, safe='')}" if copies else None
