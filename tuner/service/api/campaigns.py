"""Campaigns and their best configurations."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator, AwareDatetime, Field

from results.store.study_list import StudiesAsked

from ...commands.stored.best import best_of_study
from ...commands.stored.show import list_campaigns
from ...messages.campaigns import AskedQuery, BestModel, CampaignModel, CampaignPage, CampaignStanding, Cursor
from ...messages.documents import printable_text
from ..authentication import needs
from ..parts import CampaignName, Parts, no_query
from ..responses import as_json, without_folders
from .cursors import campaign_cursor, campaign_place

router = APIRouter(prefix="/api/v1/campaigns", tags=["campaigns"], dependencies=[needs("read")])


Word = Annotated[str, Field(max_length=200), AfterValidator(printable_text)]
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
Moment = Annotated[AwareDatetime, Field(ge=EARLIEST, le=LATEST)]


class CampaignsQuery(AskedQuery):
    """Which campaigns."""

    state: CampaignStanding | None = None
    simulated: bool | None = None
    engine: Word | None = None
    space: Word | None = None
    name: Word | None = Field(None, description="a part of the name; capital letters do not matter")
    by: Word | None = Field(None, description="who handed it in")
    since: Moment | None = Field(None, description="created then or later, with its time zone")
    limit: int = Field(50, ge=1, le=200)
    cursor: Cursor | None = None

    def asked(self) -> StudiesAsked:
        """What campaigns must fulfil."""
        before = campaign_place(self.cursor) if self.cursor is not None else None
        return StudiesAsked(
            before=before,
            since=self.since,
            stands=self.state,
            engine=self.engine,
            space=self.space,
            named=self.name,
            by=self.by,
            simulated=self.simulated,
        )


class BestQuery(AskedQuery):
    """How many configurations."""

    count: int = Field(5, ge=1, le=1000)


@router.get("", response_model=CampaignPage)
async def campaigns(request: Request, parts: Parts, query: Annotated[CampaignsQuery, Query()]) -> Response:
    """List campaigns that have begun, newest first; /api/v1/queue lists those that wait."""

    def page() -> CampaignPage:
        found = list_campaigns(parts.store, parts.answers.line, query.limit, query.asked())
        entries = parts.store.queue.of_names([line.study.name for line in found.lines])
        return CampaignPage(
            campaigns=[CampaignModel.of(line, entries.get(line.study.name)) for line in found.lines],
            next_cursor=campaign_cursor(found.older) if found.older else None,
        )

    return as_json(await parts.answers.of_all(request, page))


@router.get("/{name}", response_model=CampaignModel, dependencies=[Depends(no_query)])
async def campaign(request: Request, parts: Parts, name: CampaignName) -> Response:
    """Tell how one campaign stands."""

    def line() -> CampaignModel:
        entry = parts.store.queue.find(name)
        if entry is not None and not parts.store.queue.is_study(name):
            return CampaignModel.waiting(entry)
        return CampaignModel.of(parts.answers.line(parts.store.study(name), parts.store.lists.extent(name)), entry)

    return as_json(await parts.answers.of_all(request, line))


@router.get("/{name}/best", response_model=BestModel)
async def best(request: Request, parts: Parts, name: CampaignName, query: Annotated[BestQuery, Query()]) -> Response:
    """Rank the configurations of a campaign."""

    def ranking() -> bytes:
        facts: Any = best_of_study(parts.store, name, query.count).report().facts
        return without_folders(BestModel.model_validate({**facts, "campaign": name}))

    return as_json(await parts.answers.of_study(request, name, ranking))
