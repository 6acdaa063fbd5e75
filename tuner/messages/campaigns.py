"""What the API answers, with units in the names."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hpl.params import Scalar
from results.disturbance import Conditions
from results.stats.headline import NO_RATES
from results.store.service.campaign_entry import CampaignEntry, QueueState
from runners.virtual import load as clusters_of

if TYPE_CHECKING:
    from ..reports.lists import StudyLine

CampaignStanding = Literal["running", "complete", "interrupted", "killed", "failed", "queued", "paused", "cancelled"]


Cursor = Annotated[str, Field(max_length=1000)]
"""Where a page begins, as the page before says it."""


class AskedQuery(BaseModel):
    """A query with a word that is not known is refused: a filter with a slip would list everything."""

    model_config = ConfigDict(extra="forbid")


OF_THE_QUEUE = frozenset(QueueState) - {QueueState.DONE, QueueState.UNKNOWN}
"""States in the queue that tell more than the study does."""


def standing(study_state: str, entry: CampaignEntry | None) -> str:
    """The word for how a campaign stands.

    Args:
        study_state: of its study; or "killed", where that says that it runs and nobody works on it.
        entry: of the queue; None where nobody handed it in.
    """
    return entry.state.value if entry is not None and entry.state in OF_THE_QUEUE else study_state


class CampaignModel(BaseModel):
    """A campaign: a study, whichever command began it."""

    name: str
    state: CampaignStanding = Field(
        description="of the queue while it waits, runs, is paused, has failed or was cancelled; else of its study, "
        "failed: every trial of it failed; killed: it says that it runs, but nobody works on it any more"
    )
    in_queue: QueueState | None = Field(
        default=None, description="how it stands in the queue; null where nobody handed it in"
    )
    handed_in_by: str | None = Field(default=None, description="who; null where the command line began it")
    created_at: datetime
    space: str
    engine: str
    simulated: bool = Field(description="its trials ran on a virtual cluster or are of a table; nothing was measured")
    replayed: bool = Field(False, description="its trials are runs of a table, told again")
    rates: str | None = Field(
        default=None, description="how they came about: measured, simulated, replayed; null before its study begins"
    )
    trials: int
    failed: int
    best_gflops: float | None = Field(
        description="as expected_gflops, or the median of no. 1 where nothing is estimated"
    )
    fastest_gflops: float | None = Field(
        default=None, description="of the fastest full run; null where no run counts yet"
    )
    fastest_trial: int | None = Field(default=None, description="its number")
    fastest_called: str | None = Field(
        default=None,
        description="the word for its rate: Rmax, or the rate at an N that is small, or that was imported or replayed",
    )
    expected_gflops: float | None = Field(
        default=None,
        description="of one more run of no. 1, an estimate; null where nothing but its own runs tells of it",
    )
    interval_gflops: tuple[float, float] | None = Field(
        default=None, description="the usual rate of no. 1 is inside with 95 % probability"
    )
    median_gflops: float | None = Field(default=None, description="of the runs of no. 1")
    runs: int | None = Field(default=None, description="of no. 1")
    fastest_conditions: Conditions | None = Field(
        default=None, description="whether the fastest run was disturbed: its rate is then at least that"
    )
    conditions: Conditions | None = Field(default=None, description="the same of the runs of no. 1 that count")
    rpeak_gflops: float | None

    @classmethod
    def of(cls, line: "StudyLine", entry: CampaignEntry | None = None) -> "CampaignModel":
        """Tell of a line of a list."""
        study = line.study
        return cls(
            name=study.name,
            in_queue=None if entry is None else entry.state,
            handed_in_by=None if entry is None else entry.order.handed_in_by,
            state=standing(line.state, entry),  # type: ignore[arg-type]  # one of these words; pydantic checks it
            created_at=study.created_at,
            space=Path(study.space_name).name,
            engine=study.engine,
            simulated=study.simulated,
            replayed=study.replayed,
            rates=study.how,
            trials=line.tally.trials,
            failed=line.tally.failed,
            **(line.rates.to_json() if line.rates else NO_RATES),  # type: ignore[arg-type]  # pydantic checks it
            rpeak_gflops=study.rpeak_gflops,
        )

    @classmethod
    def waiting(cls, entry: CampaignEntry) -> "CampaignModel":
        """Tell of a campaign whose process has made no study yet."""
        document = entry.order.document
        return cls(
            name=entry.name,
            state=entry.state,  # type: ignore[arg-type]  # a word of the queue; pydantic checks it
            in_queue=entry.state,
            handed_in_by=entry.order.handed_in_by,
            created_at=entry.handed_in_at,
            space=document.get("space", ""),
            engine=document.get("engine", ""),
            simulated=document.get("cluster") in clusters_of.shipped(),
            replayed=False,
            trials=0,
            failed=0,
            best_gflops=None,
            rpeak_gflops=None,
        )


class CampaignPage(BaseModel):
    """Campaigns, newest first."""

    campaigns: list[CampaignModel]
    next_cursor: str | None = Field(description="the page of older ones begins here; null on the last page")


class RankedModel(BaseModel):
    """A configuration and what its runs gave."""

    model_config = ConfigDict(extra="allow")

    expected_gflops: float = Field(description="of one more run; the ranking goes by it")
    interval_gflops: tuple[float, float] | None = Field(description="its usual rate is inside with 95 % probability")
    median_gflops: float | None = Field(default=None, description="of its runs")
    slowest_gflops: float | None = Field(default=None, description="of its runs")
    fastest_gflops: float | None = Field(default=None, description="of its runs")
    runs: int | None = Field(default=None, description="that count")
    gflops: list[float] = Field(description="of all runs that count")
    spread_percent: float | None
    failed_runs: int
    conditions: Conditions | None = Field(
        default=None, description="of the runs that count; its rate is a lower bound where they were disturbed"
    )
    disturbed_runs: int | None = None
    unknown_runs: int | None = Field(default=None, description="of which it is not known whether they were disturbed")
    percent_of_peak: float | None = None
    usd_per_gflops: float | None = None
    mflops_per_watt: float | None = None
    trial: int = Field(description="the run that stands for it")
    params: dict[str, Scalar]


class FastestRunModel(BaseModel):
    """The fastest full run of a campaign, whatever its configuration."""

    model_config = ConfigDict(extra="allow")

    gflops: float
    trial: int
    N: int | None
    rank: int | None = Field(description="of its configuration; null where that is not ranked")
    called: str = Field(description="the word for its rate: Rmax, or the rate at an N that is small")
    part_of_memory: float | None = Field(description="that its matrix takes, 0 to 1; null where that is not known")


class BlasModel(BaseModel):
    """The best configuration of a BLAS."""

    model_config = ConfigDict(extra="allow")

    blas: str
    place: int = Field(description="of its best configuration in the ranking, from 1")
    expected_gflops: float
    behind_percent: float = Field(description="how far it is behind the first; where disturbed, at most")
    first_is_faster: float | None = Field(description="probability of that; null where it cannot be told")
    runs: int
    disturbed: bool = Field(description="whether all its runs were, so that its rate is only a lower bound")
    configurations: int = Field(description="of this BLAS that have a run that counts")
    repeated: int = Field(description="those of them that ran several times")
    params: dict[str, Scalar] = Field(description="those in which the best of all libraries differ")


class BestModel(BaseModel):
    """What `hpltune best --json` tells of a campaign, all of it; of a search for a front, the front, fastest first."""

    model_config = ConfigDict(extra="allow")

    campaign: str
    study: str | None = Field(default=None, description="the same name")
    rates: str | None = Field(default=None, description="how they came about: measured, simulated, replayed")
    pareto: str | None = Field(default=None, description="what the front weighs against GFLOPS; null of a ranking")
    rpeak_gflops: float | None
    power_source: str | None = Field(
        default=None, description="which measurement of the power MFLOPS/W are told by, or given; null where none is"
    )
    above_peak: str | None = Field(description="why rates are above the peak; null where none is")
    confidence: float | None = Field(description="probability that the first is the best; null where that is not known")
    confidence_not_told: str | None = Field(default=None, description="why no confidence is told; null where it is")
    cannot_be_told_apart: list[int] | None = Field(
        default=None, description="ranks in a tie with the first, its own included"
    )
    machine_changed_percent: float | None = Field(
        default=None, description="by how much the machine became faster before confirmation; negative: slower"
    )
    fastest_run: FastestRunModel | None = None
    by_blas: list[BlasModel] = Field(default=[], description="of each BLAS, where there are several; none of a front")
    by_program: list[dict[str, Any]] | None = Field(
        default=None, description="of each program, where several ran with one BLAS; null elsewhere"
    )
    known_machines: dict[str, Any] | None = Field(default=None, description="published results of the same CPU")
    cautions: list[str] = Field(default=[], description="what a reader of the rates must know")
    ranking: list[RankedModel]
