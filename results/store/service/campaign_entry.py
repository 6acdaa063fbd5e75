"""What is handed in to the service, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from ..lease import Lease


class QueueState(StrEnum):
    """How a campaign that was handed in stands."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """A newer hpltune wrote a state that this one does not know."""

    @classmethod
    def _missing_(cls, _value: object) -> QueueState:
        return cls.UNKNOWN


class WantedState(StrEnum):
    """What people want of a campaign."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"

    @classmethod
    def _missing_(cls, _value: object) -> WantedState:
        return cls.RUN


ENDED = frozenset({QueueState.DONE, QueueState.FAILED, QueueState.CANCELLED})
"""States of campaigns that no process works on, nor will by itself."""

EndEvent = Literal["done", "failed", "slower"]
"""What is told of an end: slower is a check that is done and found its machine slower than its baseline. A campaign
that waits because its processes died, or its time is over, counts as failed: somebody must look at it."""
LiveState = Literal[
    "queued", "running", "paused", "complete", "interrupted", "killed", "failed", "cancelled", "removed"
]
"""How a campaign stands; killed: it says that it runs, but nobody works on it any more."""
GOES_ON: frozenset[LiveState] = frozenset({"queued", "running", "paused"})
"""States after which more is to be told."""
WAITS: Mapping[QueueState, LiveState] = {
    QueueState.QUEUED: "queued",
    QueueState.RUNNING: "running",
    QueueState.PAUSED: "paused",
    QueueState.FAILED: "failed",
    QueueState.CANCELLED: "cancelled",
}
"""States that a campaign that was handed in has, whatever its study says."""
STUDY_STATES: Mapping[str, LiveState] = {
    "complete": "complete",
    "interrupted": "interrupted",
    "failed": "failed",
}
"""States of a study that has ended; failed: every trial of it failed."""


def live_state(queue: QueueState | None, study: str | None) -> LiveState:
    """Tell how a campaign stands, by how its row in the queue and its study stand; None where there is none."""
    if queue is not None and queue in WAITS:
        return WAITS[queue]
    if study is None:
        return "removed"
    return STUDY_STATES.get(study, "running")


MACHINE = "machine "
"""What stands before the identity of a machine among names of nodes, none of which has a blank."""


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
        machine: identity of the machine that it is for, which stays when its host gets another name; None where its
            nodes are no single machine's, and in rows of older versions.
    """

    name: str
    kind: str
    document: Mapping[str, Any]
    node_set: tuple[str, ...]
    handed_in_by: str
    priority: int = 0
    idempotency_key: str | None = None
    machine: str | None = None

    @property
    def places(self) -> frozenset[str]:
        """What no other campaign may work on at the same time: its nodes, and its machine whatever that is called."""
        return frozenset(self.node_set) | ({f"{MACHINE}{self.machine}"} if self.machine else frozenset())


@dataclass(frozen=True)
class CampaignEntry:
    """A campaign in the queue.

    Attributes:
        owner: the process that works on it; while that starts, the service that starts it.
        attempts: how often a process was started for it.
        started_at: when a process last began to work on it.
        reason: why it waits, or how it ended.
        heard_at: when its process last said that it runs; None where it never did, as older versions do.
        faults: of the machine or the database, one after another, because of which it went back to the queue.
        not_before: when it may be started again after such a fault.
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
    heard_at: datetime | None = None
    faults: int = 0
    not_before: datetime | None = None

    @property
    def name(self) -> str:
        """The name of the campaign, and of its study."""
        return self.order.name
