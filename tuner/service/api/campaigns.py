"""Campaigns, their trials, and their best configurations."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from ...commands.stored.best import BestRequest, best_of_study
from ...commands.stored.campaigns import CampaignsRequest, list_campaigns, show_campaign
from ..identity.caller import needs
from ..opened import CampaignName, OpenStore, no_query
from .cursors import campaign_cursor, campaign_place, trial_cursor, trial_place
from .models import BestModel, CampaignModel, CampaignPage, CampaignState, TrialModel, TrialPage

router = APIRouter(prefix="/api/v1/campaigns", tags=["campaigns"], dependencies=[needs("read")])


class _Asked(BaseModel):
    """A query with a word that is not known is refused: a filter with a slip would list everything."""

    model_config = ConfigDict(extra="forbid")


class CampaignsQuery(_Asked):
    """Which campaigns."""

    state: CampaignState | None = None
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None


class TrialsQuery(_Asked):
    """Which trials of a campaign."""

    limit: int = Field(100, ge=1, le=1000)
    cursor: str | None = None


class BestQuery(_Asked):
    """How many configurations."""

    count: int = Field(5, ge=1, le=1000)


@router.get("")
def campaigns(store: OpenStore, query: Annotated[CampaignsQuery, Query()]) -> CampaignPage:
    """List campaigns, newest first."""
    before = campaign_place(query.cursor) if query.cursor is not None else None
    found = list_campaigns(store, CampaignsRequest(query.limit, query.state, before))
    return CampaignPage(
        campaigns=[CampaignModel.of(line) for line in found.lines],
        next_cursor=campaign_cursor(found.older) if found.older else None,
    )


@router.get("/{name}", dependencies=[Depends(no_query)])
def campaign(store: OpenStore, name: CampaignName) -> CampaignModel:
    """Tell how one campaign stands."""
    return CampaignModel.of(show_campaign(store, name))


@router.get("/{name}/trials")
def trials(store: OpenStore, name: CampaignName, query: Annotated[TrialsQuery, Query()]) -> TrialPage:
    """List the trials of a campaign in the order of their begin."""
    after = trial_place(query.cursor) if query.cursor is not None else 0
    found = store.records_after(name, after, query.limit + 1)
    shown = found[: query.limit]
    return TrialPage(
        trials=[TrialModel.of(record) for record in shown],
        next_cursor=trial_cursor(shown[-1].number) if len(found) > len(shown) else None,
    )


@router.get("/{name}/best")
def best(store: OpenStore, name: CampaignName, query: Annotated[BestQuery, Query()]) -> BestModel:
    """Rank the configurations of a campaign."""
    summary = best_of_study(store, BestRequest(name, query.count)).summary
    return BestModel.model_validate({**summary.to_json(query.count), "campaign": name})
