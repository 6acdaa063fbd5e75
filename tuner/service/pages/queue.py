"""How a campaign that was handed in stands, in words, and what may be done with it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...messages.plain_paths import without_paths
from ...words import counted, listed
from ..callers import Caller
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from .rendering import Fact

MOST_NAMED = 3
"""Campaigns that are named where several are waited for."""


Starts = Callable[[CampaignEntry], bool]
"""Tells whether this service can start a campaign."""
Waiting = tuple[CampaignEntry, int, str]
"""A campaign that waits, its place in the order in which campaigns are started, from 1, and what it waits for."""


def _why(
    entry: CampaignEntry,
    starts: Starts,
    at_work: Sequence[CampaignEntry],
    first: Sequence[CampaignEntry],
    others: Sequence[tuple[str, str]],
) -> str:
    """Say what a campaign waits for.

    Args:
        at_work: campaigns that run.
        first: those that are started before it.
        others: names of studies that somebody works on, each with the host of that process.
    """
    nodes = entry.order.node_set
    if not starts(entry):
        return f"It waits for {_machines(nodes)}, which this service does not offer: one that does must start it."
    if entry.not_before is not None and entry.not_before > datetime.now(UTC):
        return f"It is tried again at {entry.not_before:%H:%M:%S} UTC, after a fault: {without_paths(entry.reason)}."
    running, before = on_nodes(at_work, nodes), on_nodes(first, nodes)
    if running:
        after = f", and {counted(len(before), 'campaign')} before it" if before else ""
        work = "works" if len(running) == 1 else "work"
        return f"It waits for {listed(first_of(running))}, which {work} on {_machines(nodes)}{after}."
    theirs = [name for name, host in others if host in nodes]
    if theirs:
        return f"It waits for {listed(first_of(theirs))}, which the command line began on {_machines(nodes)}."
    if before:
        are = "is" if len(before) == 1 else "are"
        return f"It waits for {listed(first_of(before))}, which {are} started before it."
    return "It starts in a moment."


def on_nodes(entries: Sequence[CampaignEntry], nodes: Sequence[str]) -> list[str]:
    """Names of campaigns that are for some of these nodes."""
    return [entry.name for entry in entries if not set(nodes).isdisjoint(entry.order.node_set)]


def first_of(names: Sequence[str], most: int = MOST_NAMED) -> list[str]:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return [*names[:most], *([f"{more} more"] if more > 0 else [])]


def _machines(nodes: Sequence[str]) -> str:
    return nodes[0] if len(nodes) == 1 else "its nodes"


GOES_ON = frozenset(OF_THE_QUEUE)
"""States after which a page is looked at again."""
TIME = "%Y-%m-%d %H:%M UTC"

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


def standing_of(store: Store, entry: CampaignEntry, starts: Starts) -> dict[str, Any]:
    """Tell for a template how a campaign stands that has no study yet, who handed it in, and what was asked."""
    order = entry.order
    facts = [
        ("Started", f"by {order.handed_in_by}, {entry.handed_in_at.strftime(TIME)}"),
        ("Works on", listed(list(order.node_set))),
        ("Priority", str(order.priority)),
    ]
    return {
        "headline": _headline(store, entry, starts),
        "handed_in": facts,
        "document": _asked_facts(order.document),
    }


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
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    queued = {entry.name for entry in running}
    others = [(name, host) for name, host in store.queue.hosts_at_work() if name not in queued]
    return [
        (entry, place, _why(entry, starts, running, order[: place - 1], others))
        for place, entry in enumerate(order, start=1)
        if entry.name in asked
    ]


def why_waits(store: Store, entry: CampaignEntry, starts: Starts) -> str:
    """Say of a campaign in the queue where it stands there and why it waits."""
    entries = store.queue.entries(OF_THE_QUEUE)
    found = waiting_now(store, entries, in_order(store, entries), {entry.name}, starts)
    return next((f"It is number {place} of the queue. {why}" for _, place, why in found), "It waits for its turn.")


def why_failed(entry: CampaignEntry) -> str:
    """Say why a campaign failed."""
    return f"It failed: {without_paths(entry.reason) or 'its log tells why'}."


def begun_sentences(store: Store, entry: CampaignEntry, starts: Starts) -> list[str]:
    """What the queue adds to the page of a campaign that has a study."""
    if entry.state is QueueState.QUEUED:
        return [why_waits(store, entry, starts)]
    if entry.state is QueueState.FAILED:
        return [why_failed(entry)]
    if entry.state is QueueState.PAUSED and entry.reason:
        return [f"Why it waits: {without_paths(entry.reason)}."]
    asked = buttons_of(entry).asked
    return [asked] if asked else []


_STANDING = {
    QueueState.RUNNING: "It has begun: its machines are looked at, and HPL is built where that is needed.",
    QueueState.PAUSED: "It is paused.",
    QueueState.CANCELLED: "It was cancelled.",
    QueueState.DONE: "It is done.",
    QueueState.UNKNOWN: "How it stands is only known to a newer hpltune, which works on this database too.",
}
"""How a campaign stands that has no study of its name."""
_BEFORE_IT_BEGAN = {
    QueueState.PAUSED: "It was paused before it began.",
    QueueState.CANCELLED: "It was cancelled before it began.",
}
"""The same of one that no process has worked on."""


def _headline(store: Store, entry: CampaignEntry, starts: Starts) -> str:
    if entry.state is QueueState.QUEUED:
        return why_waits(store, entry, starts)
    if entry.state is QueueState.FAILED:
        return why_failed(entry)
    begun = _STANDING[entry.state]
    return begun if entry.started_at is not None else _BEFORE_IT_BEGAN.get(entry.state, begun)


def _asked_facts(document: Mapping[str, Any]) -> list[Fact]:
    """What a document asks for, with the values that it sets."""
    values = {key: value for key, value in document.items() if key not in {"name", "set"}}
    return [(key, value_text(value)) for key, value in {**values, **document.get("set", {})}.items()]


def value_text(value: Any) -> str:
    """Write a value of a document as people write it in a form."""
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
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
    return caller.scope.covers(AccessScope.RUN if entry.order.handed_in_by == caller.name else AccessScope.ADMIN)


def like(entry: CampaignEntry, caller: Caller) -> tuple[tuple[str, str], ...]:
    """The form that begins as a campaign was asked for: what leads there, and its address; none where there is none."""
    if entry.order.kind != "tune" or not caller.scope.covers(AccessScope.RUN):
        return ()
    return (("Repeat", f"/new?from={quote(entry.name, safe='')}"),)
