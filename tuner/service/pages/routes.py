"""The address of the page that describes the API."""

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
    app: FastAPI = request.app
    return HTMLResponse(api_page(app.openapi(), app.openapi_url or ""), headers=PAGE_HEADERS)
