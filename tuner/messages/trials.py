"""What the API answers of trials, with units in the names."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from hpl.params import Scalar
from results.columns import PUBLIC, values_of
from results.disturbance import Conditions
from results.record import Invalidity, Kind, TrialRecord, TrialState

from ..reports.figures.phases import phases_s
from ..reports.ranks_got import ranks_got


class TrialModel(BaseModel):
    """A trial: one evaluation of one configuration."""

    number: int
    kind: Kind
    state: TrialState
    invalidity: Invalidity | None = Field(description="the stage at which it failed")
    reason: str = Field(description="why it does not count; empty if it counts")
    started_at: datetime | None
    ended_at: datetime | None
    gflops: float | None
    time_s: float | None
    residual: float | None
    passed: bool | None
    conditions: Conditions = Field(description="whether something else took the machine from it")
    disturbed: str | None = Field(description="what did; null where it is not known to be disturbed")
    params: dict[str, Scalar]

    @classmethod
    def of(cls, record: TrialRecord) -> "TrialModel":
        """Tell of a stored trial."""
        return cls.model_validate(values_of(record, PUBLIC))


class TrialPage(BaseModel):
    """Trials in the order of their begin."""

    trials: list[TrialModel]
    next_cursor: str | None = Field(description="the page of later ones begins here; null where there are none yet")


class ObservedModel(BaseModel):
    """What really ran, as the ranks reported it."""

    library: str = Field(description="file of the BLAS, without its folder")
    version: str
    kernel: str
    threads: int | None = Field(description="of each rank")
    hosts: list[str]


class WholeTrialModel(TrialModel):
    """A trial in full; what HPL printed is at `output.txt`."""

    blas: str
    kernel: str
    ranks: int | None
    threads: int | None = Field(description="of each rank")
    hpl: dict[str, Scalar] | None = Field(description="the parameters of its HPL.dat; null where not all are known")
    cost_s: float | None = Field(description="from the launch to the end of all processes")
    part: float = Field(description="of a full run")
    session: int = Field(description="of the campaign, from 0")
    phases_s: dict[str, float] = Field(description="of the rank that took longest, by HPL's own name of the phase")
    measurements: dict[str, float] = Field(description="by name with its unit, what observers measured meanwhile")
    observed: ObservedModel | None
    reached: dict[str, Any] = Field(
        default={},
        description="what each rank told when it began, and what of it was not as planned; {} where none did",
    )

    @classmethod
    def of(cls, record: TrialRecord) -> "WholeTrialModel":
        """Tell of a stored trial with its output."""
        seen, hpl = record.observed, record.hpl
        more = {
            "hpl": None if hpl is None else hpl.words(),
            "phases_s": phases_s(record),
            "observed": None if seen is None else {**asdict(seen), "library": Path(seen.library).name},
            "reached": ranks_got(record),
        }
        return cls.model_validate(values_of(record, PUBLIC) | more)
