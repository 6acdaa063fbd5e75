"""Addresses of the first page."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from results.errors import UnknownStudyError
from results.store.service.access import AccessScope

from ....errors import UsageError
from ....messages.plain_paths import without_paths
from ...campaigns.offered import Offered
from ...identity.caller import caller_of, needs
from ...kept.answers import KeptAnswers
from ...kept.files import KeptFiles
from ...opened import OpenStore
from ..filled import FILLED_HEADERS, rendered
from ..frames import PAGE_HEADERS
from .asked import CompareQuery, HomeQuery
from .board import board, compare_form, filter_choices, goes_on

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])
REFRESH_S = 15
"""Seconds until a browser without JavaScript reads the page again while something runs or waits."""
LOOK_S = 5
"""Seconds after which one with JavaScript does."""
Asked = Annotated[HomeQuery, Query()]
ComparedStudies = Annotated[CompareQuery, Query()]


@router.get("/")
async def home(request: Request, store: OpenStore, answers: KeptAnswers, query: Asked) -> HTMLResponse:
    """Show machines, the queue and campaigns."""
    offered = _offered(request)
    part = await answers.of_all(request, lambda: board(store, offered, answers.line, query))
    choices = filter_choices(offered)
    kept = {**query.filters, **({"cursor": query.cursor} if query.cursor else {})}
    values: dict[str, Any] = {
        "board": part.decode(),
        "query": query,
        "filtered": bool(query.filters),
        "polled": urlencode(kept),
        "may_start": caller_of(request).scope.covers(AccessScope.RUN),
        "goes_on": await answers.read(lambda: goes_on(store)),
        "states": [(one, one) for one in choices["state"]],
        "spaces": [(one, one) for one in choices["space"]],
        "engines": [(one, one) for one in choices["engine"]],
        "refresh_s": REFRESH_S,
        "look_s": LOOK_S,
    }
    return HTMLResponse(rendered("home/page.html.j2", **values), headers=FILLED_HEADERS)


@router.get("/board")
async def board_part(request: Request, store: OpenStore, answers: KeptAnswers, query: Asked) -> HTMLResponse:
    """Send the part of the first page that changes by itself."""
    offered = _offered(request)
    part = await answers.of_all(request, lambda: board(store, offered, answers.line, query))
    return HTMLResponse(part, headers=FILLED_HEADERS)


@router.get("/compare")
async def compare(store: OpenStore, answers: KeptAnswers, files: KeptFiles, query: ComparedStudies) -> HTMLResponse:
    """Compare campaigns, or let people choose some."""
    names, wrong, status = query.studies, "", 200
    try:
        if names:
            return HTMLResponse(await files.comparison(names), headers=PAGE_HEADERS)
    except UnknownStudyError as error:
        wrong, status = _sentence(error), 404
    except UsageError as error:
        wrong, status = _sentence(error), 422
    page = await answers.read(lambda: compare_form(store, answers.line, names, wrong))
    return HTMLResponse(page, status, headers=FILLED_HEADERS)


def _sentence(error: Exception) -> str:
    said = without_paths(str(error))
    return f"{said[:1].upper()}{said[1:]}."


def _offered(request: Request) -> Offered:
    offered = request.app.state.offered
    assert isinstance(offered, Offered)  # noqa: S101 - set before the first request
    return offered
