"""How many campaigns were handed in and how they stand, without reading them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from ..networks import Transaction
from ..schema import CAMPAIGNS
from .campaign_entry import QueueState


@dataclass(frozen=True)
class QueueFacts:
    """How campaigns stand that were handed in.

    Attributes:
        counts: of each state that there is.
        oldest: when the one was handed in that waits longest; None where none waits.
    """

    counts: Mapping[QueueState, int]
    oldest: datetime | None


def queue_facts(reading: Transaction) -> QueueFacts:
    """Count campaigns."""
    by_state = select(CAMPAIGNS.c.state, func.count()).group_by(CAMPAIGNS.c.state)
    first = select(func.min(CAMPAIGNS.c.handed_in_at)).where(CAMPAIGNS.c.state == QueueState.QUEUED)
    with reading() as connection:
        counts = {QueueState(state): count for state, count in connection.execute(by_state)}
        oldest = connection.execute(first).scalar_one_or_none()
    return QueueFacts(counts, None if oldest is None else datetime.fromisoformat(oldest))
