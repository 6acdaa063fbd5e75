"""How a campaign stands before its study begins, in words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store

from ....messages.plain_paths import without_paths
from ....words import listed
from ...api.desk import OF_THE_QUEUE
from ...campaigns.fair_order import in_order
from ...campaigns.waiting import NodesTaken, Waiting, waiting
from ..facts import StatedFact
from .actions import buttons_of

GOES_ON = frozenset(OF_THE_QUEUE)
"""States after which a page is looked at again."""
TIME = "%Y-%m-%d %H:%M UTC"


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


def standing_of(store: Store, entry: CampaignEntry) -> QueueStanding:
    """Tell how a campaign stands that has no study yet."""
    order = entry.order
    facts = [
        StatedFact("Handed in", f"by {order.handed_in_by}, {entry.handed_in_at.strftime(TIME)}"),
        StatedFact("Works on", listed(list(order.node_set))),
        StatedFact("Priority", str(order.priority)),
    ]
    return QueueStanding(_headline(store, entry), facts, _asked(order.document), entry.state in GOES_ON)


def waiting_now(
    store: Store, entries: Sequence[CampaignEntry], order: Sequence[CampaignEntry], asked: Collection[str]
) -> list[Waiting]:
    """Say of campaigns that wait why they do.

    Args:
        entries: the whole queue.
        order: those that wait, in the order in which they are started.
        asked: names of those of which it is said.
    """
    running = {entry.name for entry in entries if entry.state is QueueState.RUNNING}
    others = [(host, name) for name, host in store.queue.hosts_at_work() if name not in running]
    return waiting(entries, order, NodesTaken(others), asked)


def why_waits(store: Store, entry: CampaignEntry) -> str:
    """Say of a campaign in the queue where it stands there and why it waits."""
    entries = store.queue.entries(OF_THE_QUEUE)
    found = waiting_now(store, entries, in_order(store, entries), {entry.name})
    return f"It is number {found[0].position} of the queue. {found[0].why}" if found else "It waits for its turn."


def why_failed(entry: CampaignEntry) -> str:
    """Say why a campaign failed."""
    return f"It failed: {without_paths(entry.reason) or 'its log tells why'}."


def begun_sentences(store: Store, entry: CampaignEntry) -> list[str]:
    """What the queue adds to the page of a campaign that has a study."""
    if entry.state is QueueState.QUEUED:
        return [why_waits(store, entry)]
    if entry.state is QueueState.FAILED:
        return [why_failed(entry)]
    asked = buttons_of(entry).asked
    return [asked] if asked else []


def _headline(store: Store, entry: CampaignEntry) -> str:
    match entry.state:
        case QueueState.QUEUED:
            return why_waits(store, entry)
        case QueueState.RUNNING:
            return "It has begun: its machines are looked at, and HPL is built where that is needed."
        case QueueState.PAUSED:
            return "It was paused before it began."
        case QueueState.CANCELLED:
            return "It was cancelled before it began."
        case QueueState.FAILED:
            return why_failed(entry)
    return "It is done."


def _asked(document: Any) -> list[StatedFact]:
    values = {key: value for key, value in document.items() if key not in {"name", "set"}}
    return [StatedFact(key, _text(value)) for key, value in {**values, **document.get("set", {})}.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
