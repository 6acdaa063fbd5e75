"""What `show` and `best` print, for the command line of another machine: parts for people, or facts for scripts."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from results.report.as_json import json_parts
from results.report.model import Report, Rows

from ...commands.stored.best import BestRequest, best_of_study
from ...commands.stored.show import (
    StudiesRequest,
    TrialRequest,
    TrialsRequest,
    show_studies,
    show_trial,
    show_trials,
)
from ...errors import TunerError
from ...messages.campaigns import AskedQuery
from ...messages.documents import document_of
from ...messages.plain_paths import facts_without_paths
from ...messages.printed import PrintedModel
from ...reports.page import Page
from ..campaigns.kinds.registry import KINDS
from ..identity.caller import needs
from ..kept.answers import KeptAnswers
from ..opened import CampaignName, OpenStore
from ..problems import Problem
from .cursors import LARGEST
from .desk import handed_in_entry
from .responses import as_json
from .trials import Number

router = APIRouter(prefix="/api/v1", tags=["printed"], dependencies=[needs("read")])
MOST_ROWS = 10_000
"""Of a page that is printed."""
Facts = Annotated[bool, Field(description="answer the facts that --json prints, not what people read")]


class StudiesPrinted(AskedQuery):
    """As the options of `hpltune show`."""

    everything: bool = False
    page: int = Field(1, ge=1, le=LARGEST)
    count: int | None = Field(None, ge=1, le=MOST_ROWS)
    facts: Facts = False


class TrialsPrinted(AskedQuery):
    """As the options of `hpltune show NAME`."""

    failed: bool = False
    page: int = Field(1, ge=1, le=LARGEST)
    count: int | None = Field(None, ge=1, le=MOST_ROWS)
    facts: Facts = False


class TrialPrinted(AskedQuery):
    """As the options of `hpltune show NAME NUMBER`."""

    output: bool = False
    facts: Facts = False


class ResultPrinted(AskedQuery):
    """Nothing else can be chosen."""

    facts: Facts = False


class BestPrinted(AskedQuery):
    """As the options of `hpltune best`."""

    count: int = Field(5, ge=1, le=1000)
    pareto: str | None = Field(None, max_length=100)
    facts: Facts = False


@router.get("/printed/campaigns", response_model=PrintedModel)
async def printed_studies(
    request: Request, store: OpenStore, answers: KeptAnswers, query: Annotated[StudiesPrinted, Query()]
) -> Response:
    """Print the list of campaigns."""

    def report() -> Report:
        page = None if query.facts else Page(query.page, query.count)
        return show_studies(store, StudiesRequest(page, query.everything)).report()

    if query.facts:
        return await _facts(answers, report)
    return as_json(await answers.of_all(request, lambda: PrintedModel.of(report())))


@router.get("/printed/campaigns/{name}", response_model=PrintedModel)
async def printed_trials(
    request: Request,
    store: OpenStore,
    answers: KeptAnswers,
    name: CampaignName,
    query: Annotated[TrialsPrinted, Query()],
) -> Response:
    """Print the trials of a campaign."""

    def report() -> Report:
        page = Page(query.page, query.count)
        return show_trials(store, TrialsRequest(name, query.failed, page)).report()

    if query.facts:
        return await _facts(answers, report)
    return as_json(await answers.of_all(request, lambda: PrintedModel.of(report())))


@router.get("/printed/campaigns/{name}/best", response_model=PrintedModel)
async def printed_best(
    request: Request,
    store: OpenStore,
    answers: KeptAnswers,
    name: CampaignName,
    query: Annotated[BestPrinted, Query()],
) -> Response:
    """Print the best configurations of a campaign."""

    def report() -> Report:
        return best_of_study(store, BestRequest(name, query.count, query.pareto)).report()

    if query.facts:
        return await _facts(answers, report)
    return as_json(await answers.of_study(request, name, lambda: PrintedModel.of(report())))


@router.get("/printed/campaigns/{name}/trials/{number}", response_model=PrintedModel)
async def printed_trial(
    store: OpenStore,
    answers: KeptAnswers,
    name: CampaignName,
    number: Number,
    query: Annotated[TrialPrinted, Query()],
) -> Response:
    """Print all of one trial."""

    def report() -> Report:
        return show_trial(store, TrialRequest(name, number, query.output)).report()

    if query.facts:
        return await _facts(answers, report)
    return as_json(await answers.read(lambda: PrintedModel.of(report()).model_dump_json().encode()))


@router.get("/printed/campaigns/{name}/result", response_model=PrintedModel)
async def printed_result(
    store: OpenStore, answers: KeptAnswers, name: CampaignName, query: Annotated[ResultPrinted, Query()]
) -> Response:
    """Print what the command of a campaign prints at its end."""
    entry = handed_in_entry(store, name)
    kind = KINDS[entry.order.kind]
    document = document_of(kind.name).model_validate(entry.order.document)

    def report() -> Report:
        try:
            return kind.report(document, name, store)
        except TunerError as error:
            raise Problem(409, f"{error}.") from error

    if query.facts:
        return await _facts(answers, report)
    return as_json(await answers.read(lambda: PrintedModel.of(report()).model_dump_json().encode()))


async def _facts(answers: KeptAnswers, report: Callable[[], Report]) -> Response:
    """Answer the facts of a report; a long list is read while it is sent."""
    found = await answers.read(report)
    facts = found.facts
    plain = (
        Rows(lambda: map(facts_without_paths, facts.read())) if isinstance(facts, Rows) else facts_without_paths(facts)
    )
    return StreamingResponse(json_parts(Report("", (), plain)), media_type="application/json")
