"""What events tell, with units in the names."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, RootModel

from hpl.params import Scalar
from results.columns import PUBLIC, values_of
from results.plain import finite
from results.record import Kind
from results.store.service.campaign_entry import LiveState

from .plain_paths import facts_without_paths
from .trials import TrialMessage, with_columns

if TYPE_CHECKING:
    from results.store.outbox import StoredEvent


class TotalsModel(BaseModel):
    """What the ended trials of a campaign amount to."""

    campaign: str
    trials: int = Field(description="that have ended")
    failed: int
    machine_time_s: float = Field(description="of all trials that have ended")
    fastest_gflops: float | None = Field(
        default=None, description="of the fastest full run so far; null where no run counts yet"
    )
    fastest_trial: int | None = Field(default=None, description="its number")
    best_gflops: float | None = Field(description="an older name of fastest_gflops", deprecated=True)
    best_trial: int | None = Field(description="an older name of fastest_trial", deprecated=True)


class CampaignEvent(TotalsModel):
    """How a campaign stands: at the begin of a stream, and each time that its state changes."""

    event: Literal["campaign", "campaign-began", "campaign-changed", "campaign-ended"]
    state: LiveState
    running: list[int] = Field(description="numbers of the trials that run, in the events campaign and campaign-ended")


class TrialBegunEvent(BaseModel):
    """A trial has begun."""

    event: Literal["trial-begun"] = "trial-begun"
    campaign: str
    number: int
    kind: Kind
    started_at: datetime
    params: dict[str, Scalar]


@with_columns
class TrialEndedEvent(TrialMessage, TotalsModel):
    """A trial has ended, with what all that have ended amount to."""

    event: Literal["trial-ended"] = "trial-ended"


class ProgressEvent(BaseModel):
    """How far a running trial is; it has no id, because what it tells is soon old."""

    event: Literal["progress"] = "progress"
    campaign: str
    number: int
    fraction: float = Field(description="part of its floating-point operations that is done, 0 to 1")
    elapsed_s: float = Field(description="since its first panel")
    left_s: float | None = Field(description="if it goes on as fast as until now; null at its begin")
    gflops: float | None = Field(description="from its first panel until now; null at its begin")
    panel_gflops: float | None = Field(description="of the last panels alone; null where that is not known")


class ShownEvent(BaseModel):
    """What the process of a campaign shows of it while it works."""

    event: Literal["shown"] = "shown"
    campaign: str
    shown: dict[str, Any] = Field(description="what it is, under `kind`, and what that tells")


Event = CampaignEvent | TrialBegunEvent | TrialEndedEvent | ShownEvent | ProgressEvent


class LiveEvent(RootModel[Event]):
    """The data of one event."""


def document(event: "StoredEvent") -> Event | None:
    """Tell of an event of the outbox; None where the trial that it tells of is damaged."""
    if event.shown is not None:
        return ShownEvent(campaign=event.campaign, shown=facts_without_paths(event.shown))
    if not event.name.startswith("trial-"):
        return CampaignEvent.model_validate(
            {"event": event.name, "state": event.state, "running": list(event.running), **_amount(event)}
        )
    record = event.trial
    if record is None:
        return None
    facts = values_of(record, PUBLIC)
    if event.name == "trial-begun":
        return TrialBegunEvent.model_validate({**facts, "campaign": event.campaign, "started_at": record.started_at})
    return TrialEndedEvent.model_validate({**facts, **_amount(event)})


def _amount(event: "StoredEvent") -> dict[str, object]:
    """Write totals under the names that events have."""
    totals = event.totals
    return {
        "campaign": event.campaign,
        "trials": totals.ended,
        "failed": totals.failed,
        "machine_time_s": round(totals.machine_s, 3),
        "fastest_gflops": finite(totals.best_gflops),
        "fastest_trial": totals.best_trial,
        "best_gflops": finite(totals.best_gflops),
        "best_trial": totals.best_trial,
    }
