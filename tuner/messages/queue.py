"""What the API answers about campaigns that were handed in."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState

from .plain_paths import without_paths


class HandedInModel(BaseModel):
    """A campaign that was handed in; its study has the same name."""

    name: str
    state: QueueState
    wanted: WantedState = Field(description="what people want of it; a running one does so after its running trial")
    priority: int
    position: int | None = Field(description="in the order in which campaigns are started; null unless it is queued")
    handed_in_by: str
    handed_in_at: datetime
    started_at: datetime | None = Field(description="when a process last began to work on it")
    ended_at: datetime | None
    attempts: int = Field(description="processes that were started for it")
    nodes: list[str] = Field(description="the machines that it works on, one campaign on each at a time")
    reason: str = Field(description="why it waits, or how it ended")
    document: Mapping[str, Any]

    @classmethod
    def of(cls, entry: CampaignEntry, position: int | None) -> "HandedInModel":
        """Tell of a campaign in the queue."""
        order = entry.order
        return cls(
            name=entry.name,
            state=entry.state,
            wanted=entry.wanted,
            priority=order.priority,
            position=position,
            handed_in_by=order.handed_in_by,
            handed_in_at=entry.handed_in_at,
            started_at=entry.started_at,
            ended_at=entry.ended_at,
            attempts=entry.attempts,
            nodes=list(order.node_set),
            reason=without_paths(entry.reason),
            document=order.document,
        )


class QueueModel(BaseModel):
    """Campaigns that run, those that wait in the order in which they are started, and those that never began."""

    running: list[HandedInModel]
    queued: list[HandedInModel]
    paused: list[HandedInModel]
    ended_early: list[HandedInModel] = Field(
        default=[], description="the newest that failed or were cancelled without a study, as before a first trial"
    )

    def all(self) -> list[HandedInModel]:
        """All of them."""
        return [*self.running, *self.queued, *self.paused, *self.ended_early]


class LogModel(BaseModel):
    """The end of what the process of a campaign said."""

    lines: list[str]
