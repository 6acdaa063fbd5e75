"""What would come of a campaign, told before it is handed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState, WantedState
from results.store.store import Store

from ...errors import TunerError
from ...messages.documents import Document, document_of
from .expected import CampaignEstimate
from .fair_order import REMEMBERED, fair_order
from .hand_in import checked
from .host_survey import HostSurvey
from .kinds.registry import KINDS, kind_of
from .offered import Offers
from .wrong import WrongDocumentError

MOST_AHEAD = 25
"""Campaigns ahead whose budgets are read."""


@dataclass(frozen=True)
class PreviewRequest:
    """A document that somebody may hand in.

    Attributes:
        user: who.
    """

    document: Document
    user: str


@dataclass(frozen=True)
class Preview:
    """What would come of a campaign.

    Attributes:
        nodes: the machines that it would work on.
        points: valid combinations of its space there; None where only its nodes can tell.
        ahead: campaigns that those machines work on before, in their order.
        wait_s: seconds until the budgets of those are used up; None where one of them has no limit in time.
        cautions: sentences on what may be other than expected.
    """

    nodes: tuple[str, ...]
    expected: CampaignEstimate
    points: int | None
    ahead: tuple[str, ...]
    wait_s: float | None
    cautions: tuple[str, ...] = ()


def preview(request: PreviewRequest, offered: Offers, store: Store, survey: HostSurvey) -> Preview:
    """Tell what would come of a document; nothing is handed in, built or timed.

    Raises:
        WrongDocumentError: something in it is wrong; it says where.
    """
    document = request.document
    nodes, size = checked(document, offered, store, survey)
    if document.name is not None and (store.queue.is_study(document.name) or store.queue.find(document.name)):
        raise WrongDocumentError("name", f"campaign {document.name} exists already: choose another name")
    ahead = _ahead(store.queue.entries([QueueState.QUEUED, QueueState.RUNNING]), _imagined(request, nodes), store)
    return Preview(
        nodes,
        KINDS[document.kind].expected(document, offered, store),
        size.points,
        tuple(entry.name for entry in ahead),
        _wait_s(ahead, offered, store),
        size.cautions,
    )


def _imagined(request: PreviewRequest, nodes: tuple[str, ...]) -> CampaignEntry:
    """The campaign in the queue, as if it had been handed in now."""
    mine = CampaignOrder("", "", {}, nodes, request.user, request.document.priority)
    return CampaignEntry(mine, datetime.now(UTC), QueueState.QUEUED, WantedState.RUN, None, 0, None, None, "")


def _ahead(entries: Sequence[CampaignEntry], mine: CampaignEntry, store: Store) -> list[CampaignEntry]:
    """The campaigns for which it must wait: those that run on its machines, then those that are started first."""
    nodes, now = set(mine.order.node_set), mine.handed_in_at
    order = fair_order([*entries, mine], store.queue.recent(now - REMEMBERED), now)
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    return [entry for entry in [*running, *order[: order.index(mine)]] if nodes & set(entry.order.node_set)]


def _wait_s(ahead: Sequence[CampaignEntry], offered: Offers, store: Store) -> float | None:
    if len(ahead) > MOST_AHEAD:
        return None
    left = [_left_s(entry, offered, store) for entry in ahead]
    known = [part for part in left if part is not None]
    return sum(known) if len(known) == len(left) else None


def _left_s(entry: CampaignEntry, offered: Offers, store: Store) -> float | None:
    try:
        kind = kind_of(entry.order.kind)
        longest_s = kind.expected(document_of(kind.name).model_validate(entry.order.document), offered, store).longest_s
    except (TunerError, WrongDocumentError, ValueError):
        return None  # the service offered something else when it was handed in
    if longest_s is None or entry.started_at is None or entry.state is not QueueState.RUNNING:
        return longest_s
    return max(0.0, longest_s - (datetime.now(UTC) - entry.started_at).total_seconds())
