"""The address of the page that describes the API."""

from functools import lru_cache

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse

from ..identity.caller import needs
from ..opened import no_query
from .api_page import api_page
from .frames import PAGE_HEADERS

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])


@router.get("/docs", dependencies=[Depends(no_query)])
def api(request: Request) -> HTMLResponse:
    """Show the API."""
    return HTMLResponse(_api_page(request.app), headers=PAGE_HEADERS)


@lru_cache(maxsize=1)
def _api_page(app: FastAPI) -> str:
    return api_page(app.openapi(), app.openapi_url or "")
