"""What is handed in to the service, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..lease import Lease


class QueueState(StrEnum):
    """How a campaign that was handed in stands."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WantedState(StrEnum):
    """What people want of a campaign."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"


ENDED = frozenset({QueueState.DONE, QueueState.FAILED, QueueState.CANCELLED})
"""States of campaigns that no process works on, nor will by itself."""


@dataclass(frozen=True)
class CampaignOrder:
    """What is handed in.

    Attributes:
        name: of the campaign, and of its study.
        kind: "tune", "check", …
        document: what was asked, as JSON holds it.
        node_set: names of the machines that it works on; no two campaigns work on one machine at a time.
        handed_in_by: name of the user.
        priority: a higher one is started first.
        idempotency_key: the same key of the same user hands in the same campaign; None makes a new one each time.
    """

    name: str
    kind: str
    document: Mapping[str, Any]
    node_set: tuple[str, ...]
    handed_in_by: str
    priority: int = 0
    idempotency_key: str | None = None


@dataclass(frozen=True)
class CampaignEntry:
    """A campaign in the queue.

    Attributes:
        owner: the process that works on it; while that starts, the service that starts it.
        attempts: how often a process was started for it.
        started_at: when a process last began to work on it.
        reason: why it waits, or how it ended.
    """

    order: CampaignOrder
    handed_in_at: datetime
    state: QueueState
    wanted: WantedState
    owner: Lease | None
    attempts: int
    started_at: datetime | None
    ended_at: datetime | None
    reason: str

    @property
    def name(self) -> str:
        """The name of the campaign, and of its study."""
        return self.order.name
