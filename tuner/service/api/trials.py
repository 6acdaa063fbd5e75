"""The trials of a campaign, and one of them with what it read and printed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from results.export.csv_lines import to_hpl_dat
from results.record import TrialRecord, TrialState
from results.store.store import Store

from ...messages.campaigns import AskedQuery, Cursor
from ...messages.trials import TrialModel, TrialPage, WholeTrialModel
from ..authentication import needs
from ..parts import CampaignName, Parts, no_query
from ..problems import Problem
from ..responses import PlainResponse, as_json, as_text, saved
from .cursors import LARGEST, trial_cursor, trial_place

router = APIRouter(prefix="/api/v1/campaigns/{name}/trials", tags=["trials"], dependencies=[needs("read")])
Number = Annotated[int, Path(ge=1, le=LARGEST, description="of the trial in its campaign, from 1")]


class TrialsQuery(AskedQuery):
    """Which trials of a campaign."""

    limit: int = Field(100, ge=1, le=1000)
    cursor: Cursor | None = None


@router.get("", response_model=TrialPage)
async def trials(
    request: Request,
    parts: Parts,
    name: CampaignName,
    query: Annotated[TrialsQuery, Query()],
) -> Response:
    """List the trials of a campaign in the order of their begin."""
    after = trial_place(query.cursor) if query.cursor is not None else 0

    def page() -> TrialPage:
        found = parts.store.lists.trials_after(name, after, query.limit + 1)
        shown = found[: query.limit]
        return TrialPage.model_construct(
            trials=[TrialModel.of(record) for record in shown],
            next_cursor=trial_cursor(shown[-1].number) if len(found) > len(shown) else None,
        )

    return as_json(await parts.answers.of_study(request, name, page))


@router.get("/{number}", response_model=WholeTrialModel, dependencies=[Depends(no_query)])
async def trial(parts: Parts, name: CampaignName, number: Number) -> Response:
    """Tell all of one trial."""
    return as_json(
        await parts.answers.read(lambda: WholeTrialModel.of(parts.store.get(name, number)).model_dump_json().encode())
    )


@router.get("/{number}/output.txt", response_class=PlainResponse, dependencies=[Depends(no_query)])
async def output(parts: Parts, name: CampaignName, number: Number) -> PlainResponse:
    """Write what HPL printed in a trial."""
    record = await parts.answers.read(lambda: _ended(parts.store, name, number))
    return PlainResponse(as_text(record.output), headers=saved(f"{name}-{number}-output.txt"))


@router.get("/{number}/errors.txt", response_class=PlainResponse, dependencies=[Depends(no_query)])
async def errors(parts: Parts, name: CampaignName, number: Number) -> PlainResponse:
    """Write what all ranks of a trial said on standard error."""
    record = await parts.answers.read(lambda: _ended(parts.store, name, number))
    return PlainResponse(as_text(record.errors_text), headers=saved(f"{name}-{number}-errors.txt"))


@router.get("/{number}/HPL.dat", response_class=PlainResponse, dependencies=[Depends(no_query)])
async def trial_hpl_dat(parts: Parts, name: CampaignName, number: Number) -> PlainResponse:
    """Write the HPL.dat that runs a trial alone."""
    text = await parts.answers.read(lambda: to_hpl_dat(parts.store.get(name, number)))
    return PlainResponse(as_text(text), headers=saved("HPL.dat"))


def _ended(store: Store, name: str, number: int) -> TrialRecord:
    record = store.get(name, number)
    if record.state is TrialState.RUNNING:
        raise Problem(409, f"Trial {number} of campaign {name} is at work: what it prints is stored when it has ended.")
    return record
