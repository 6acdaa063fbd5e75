"""What events tell, with units in the names."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, RootModel

from hpl.params import Scalar
from results.plain import finite
from results.record import Invalidity, Kind, TrialRecord, TrialState

if TYPE_CHECKING:
    from results.store.watching import Totals

LiveState = Literal[
    "queued", "running", "paused", "complete", "interrupted", "killed", "failed", "cancelled", "removed"
]
"""How a campaign stands; killed: it says that it runs, but nobody works on it any more."""


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


class TrialEndedEvent(TotalsModel):
    """A trial has ended, with what all that have ended amount to."""

    event: Literal["trial-ended"] = "trial-ended"
    number: int
    kind: Kind
    state: TrialState
    invalidity: Invalidity | None = Field(description="the stage at which it failed")
    reason: str = Field(description="why it does not count; empty if it counts")
    gflops: float | None
    residual: float | None = None
    passed: bool | None = Field(None, description="HPL's word about the residual; null where nothing checked it")
    time_s: float | None
    cost_s: float | None
    params: dict[str, Scalar]


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


Event = CampaignEvent | TrialBegunEvent | TrialEndedEvent | ProgressEvent


class LiveEvent(RootModel[Event]):
    """The data of one event."""


def amount(totals: "Totals") -> dict[str, object]:
    """Write totals under the names that events have."""
    return {
        "trials": totals.ended,
        "failed": totals.failed,
        "machine_time_s": round(totals.machine_s, 3),
        "fastest_gflops": finite(totals.best_gflops),
        "fastest_trial": totals.best_trial,
        "best_gflops": finite(totals.best_gflops),
        "best_trial": totals.best_trial,
    }


def begun(campaign: str, record: TrialRecord) -> TrialBegunEvent:
    """Tell that a trial has begun."""
    return TrialBegunEvent(
        campaign=campaign,
        number=record.number,
        kind=record.kind,
        started_at=record.started_at,
        params=dict(record.params),
    )


def ended(campaign: str, record: TrialRecord, totals: "Totals") -> TrialEndedEvent:
    """Tell that a trial has ended."""
    told: Mapping[str, object] = {
        **amount(totals),
        "campaign": campaign,
        "number": record.number,
        "kind": record.kind,
        "state": record.state,
        "invalidity": record.invalidity,
        "reason": record.reason,
        "gflops": finite(record.gflops),
        "residual": finite(record.residual),
        "passed": record.passed,
        "time_s": finite(record.time_s),
        "cost_s": finite(record.cost_s),
        "params": dict(record.params),
    }
    return TrialEndedEvent.model_validate(told)
