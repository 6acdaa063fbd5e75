"""The address of the list of campaigns."""

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse

from ..api.cursors import campaign_place
from ..identity.caller import needs
from ..kept.answers import KeptAnswers
from ..opened import OpenStore, no_query
from .api_page import api_page
from .frames import PAGE_HEADERS
from .rendered import campaigns_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])


@router.get("/")
async def home(request: Request, store: OpenStore, answers: KeptAnswers, cursor: str | None = None) -> HTMLResponse:
    """Show campaigns."""
    before = campaign_place(cursor) if cursor is not None else None
    page = await answers.of_all(request, lambda: campaigns_page(store, before, "/?cursor=", answers.line))
    return HTMLResponse(page, headers=PAGE_HEADERS)


@router.get("/docs", dependencies=[Depends(no_query)])
def api(request: Request) -> HTMLResponse:
    """Show the API."""
    app: FastAPI = request.app
    return HTMLResponse(api_page(app.openapi(), app.openapi_url or ""), headers=PAGE_HEADERS)
