"""What `show` and `best` print, for the command line of another machine: parts for people, or facts for scripts."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from results.report.model import Report, Rows
from results.report.text_forms import json_parts

from ...asks.compare import CompareAsk
from ...commands.stored.best import best_of_study
from ...commands.stored.show import show_studies, show_trial, show_trials
from ...errors import TunerError
from ...messages.campaigns import AskedQuery, standing
from ...messages.documents import document_of, query_of
from ...messages.plain_paths import facts_without_paths
from ...messages.printed import PrintedModel
from ...reports.lists import Page
from ...words import all_with_options, with_options
from ..authentication import needs
from ..cache import Answers
from ..campaigns.kinds.registry import kind_of
from ..parts import CampaignName, Parts
from ..problems import Problem
from ..responses import as_json, without_folders
from .cursors import LARGEST
from .queue_access import handed_in_entry
from .trials import Number

router = APIRouter(prefix="/api/v1", tags=["printed"], dependencies=[needs("read")])
MOST_ROWS = 10_000
"""Of a page that is printed."""


class PrintedQuery(AskedQuery):
    """What is printed, and for whom."""

    facts: bool = Field(False, description=with_options("answer the facts that ⟦json⟧ prints, not what people read"))


class StudiesPrinted(PrintedQuery):
    """As the options of `hpltune show`."""

    everything: bool = False
    page: int = Field(1, ge=1, le=LARGEST)
    count: int | None = Field(None, ge=1, le=MOST_ROWS)


class TrialsPrinted(PrintedQuery):
    """As the options of `hpltune show NAME`."""

    failed: bool = False
    everything: bool = False
    page: int = Field(1, ge=1, le=LARGEST)
    count: int | None = Field(None, ge=1, le=MOST_ROWS)


class TrialPrinted(PrintedQuery):
    """As the options of `hpltune show NAME NUMBER`."""

    output: bool = False


class BestPrinted(PrintedQuery):
    """As the options of `hpltune best`."""

    count: int = Field(5, ge=1, le=1000)
    pareto: str | None = Field(None, max_length=100)
    whole: bool = False


if TYPE_CHECKING:
    ComparePrinted = PrintedQuery
else:
    ComparePrinted = query_of(CompareAsk, PrintedQuery)
    """As the arguments and options of `hpltune compare`."""


@router.get("/printed/campaigns", response_model=PrintedModel)
async def printed_studies(request: Request, parts: Parts, query: Annotated[StudiesPrinted, Query()]) -> Response:
    """Print the list of campaigns."""
    page = None if query.facts else Page(query.page, query.count)

    def report() -> Report:
        found = show_studies(parts.store, page, everything=query.everything)
        entries = parts.store.queue.of_names([line.study.name for line in found.lines])
        lines = [replace(line, state=standing(line.state, entries.get(line.study.name))) for line in found.lines]
        return replace(found, lines=lines).report()

    return await _answer(request, parts.answers, query, report)


@router.get("/printed/comparison", response_model=PrintedModel)
async def printed_comparison(parts: Parts, query: Annotated[ComparePrinted, Query()]) -> Response:
    """Print how campaigns differ, or the values of a parameter within one."""
    return as_json(await parts.files.compared(query.model_dump(exclude={"facts"}), facts=query.facts))


@router.get("/printed/campaigns/{name}", response_model=PrintedModel)
async def printed_trials(
    request: Request, parts: Parts, name: CampaignName, query: Annotated[TrialsPrinted, Query()]
) -> Response:
    """Print the trials of a campaign."""
    page, whole = Page(query.page, query.count), query.everything

    def printed() -> Report:
        return show_trials(parts.store, name, failed=query.failed, page=page, whole=whole)

    return await _answer(request, parts.answers, query, printed)


@router.get("/printed/campaigns/{name}/best", response_model=PrintedModel)
async def printed_best(
    request: Request, parts: Parts, name: CampaignName, query: Annotated[BestPrinted, Query()]
) -> Response:
    """Print the best configurations of a campaign."""
    return await _answer(
        request,
        parts.answers,
        query,
        lambda: best_of_study(parts.store, name, query.count, query.pareto, whole=query.whole).report(),
    )


@router.get("/printed/campaigns/{name}/trials/{number}", response_model=PrintedModel)
async def printed_trial(
    request: Request, parts: Parts, name: CampaignName, number: Number, query: Annotated[TrialPrinted, Query()]
) -> Response:
    """Print all of one trial."""
    return await _answer(
        request, parts.answers, query, lambda: show_trial(parts.store, name, number, output=query.output).report()
    )


@router.get("/printed/campaigns/{name}/result", response_model=PrintedModel)
async def printed_result(
    request: Request, parts: Parts, name: CampaignName, query: Annotated[PrintedQuery, Query()]
) -> Response:
    """Print what the command of a campaign prints at its end."""

    def report() -> Report:
        order = handed_in_entry(parts.store, name).order
        try:
            kind = kind_of(order.kind)
            return kind.report(document_of(kind.name).model_validate(order.document), name, parts.store, parts.offered)
        except TunerError as error:
            raise Problem(409, f"{error}.") from error

    return await _answer(request, parts.answers, query, report)


async def _answer(request: Request, answers: Answers, query: PrintedQuery, report: Callable[[], Report]) -> Response:
    """Answer what a report says to people, or its facts, of which a long list is read while it is sent."""
    if not query.facts:
        return as_json(await answers.of_all(request, lambda: without_folders(PrintedModel.of(report()))))
    facts = all_with_options((await answers.read(report)).facts)
    plain = (
        Rows(lambda: map(facts_without_paths, facts.read())) if isinstance(facts, Rows) else facts_without_paths(facts)
    )
    return StreamingResponse(json_parts(Report("", (), plain)), media_type="application/json")
