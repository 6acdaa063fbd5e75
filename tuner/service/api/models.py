"""What the API answers, with units in the names."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hpl.params import Scalar

from ...reports.studies import StudyLine

CampaignState = Literal["running", "complete", "interrupted", "killed"]


class AskedQuery(BaseModel):
    """A query with a word that is not known is refused: a filter with a slip would list everything."""

    model_config = ConfigDict(extra="forbid")


class CampaignModel(BaseModel):
    """A campaign: a study, whichever command began it."""

    name: str
    state: CampaignState = Field(description="killed: it says that it runs, but nobody works on it any more")
    created_at: datetime
    space: str
    engine: str
    simulated: bool = Field(description="its trials ran on a virtual cluster; nothing was measured")
    trials: int
    failed: int
    best_gflops: float | None = Field(description="expected of one more run of the best; null where no run counts yet")
    rpeak_gflops: float | None

    @classmethod
    def of(cls, line: StudyLine) -> "CampaignModel":
        """Tell of a line of a list."""
        study = line.study
        return cls(
            name=study.name,
            state=line.state,  # type: ignore[arg-type]  # the states of studies, and killed; pydantic checks it
            created_at=study.created_at,
            space=Path(study.space_name).name,
            engine=study.engine,
            simulated=study.simulated,
            trials=line.tally.trials,
            failed=line.tally.failed,
            best_gflops=line.best_gflops,
            rpeak_gflops=study.rpeak_gflops,
        )


class CampaignPage(BaseModel):
    """Campaigns, newest first."""

    campaigns: list[CampaignModel]
    next_cursor: str | None = Field(description="the page of older ones begins here; null on the last page")


class RankedModel(BaseModel):
    """A configuration and what its runs gave."""

    expected_gflops: float = Field(description="of one more run; the ranking goes by it")
    interval_gflops: tuple[float, float] | None = Field(description="its usual rate is inside with 95 % probability")
    gflops: list[float] = Field(description="of all runs that count")
    spread_percent: float | None
    failed_runs: int
    percent_of_peak: float | None = None
    usd_per_gflops: float | None = None
    mflops_per_watt: float | None = None
    trial: int = Field(description="the run that stands for it")
    params: dict[str, Scalar]


class BestModel(BaseModel):
    """The best configurations of a campaign, best first; of a search for a front, the front, fastest first."""

    campaign: str
    pareto: str | None = Field(None, description="what the front weighs against GFLOPS; null of a ranking")
    rpeak_gflops: float | None
    above_peak: str | None = Field(description="why rates are above the peak; null where none is")
    confidence: float | None = Field(description="probability that the first is the best; null where that is not known")
    ranking: list[RankedModel]
