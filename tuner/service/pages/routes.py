"""Addresses of the pages."""

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse

from ..api.cursors import campaign_place
from ..identity.caller import needs
from ..opened import CampaignName, OpenStore, no_query
from .rendered import PAGE_HEADERS, campaign_page, campaigns_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])


@router.get("/")
def home(store: OpenStore, cursor: str | None = None) -> HTMLResponse:
    """Show campaigns."""
    before = campaign_place(cursor) if cursor is not None else None
    return HTMLResponse(campaigns_page(store, before, "/?cursor="), headers=PAGE_HEADERS)


@router.get("/campaigns/{name}", dependencies=[Depends(no_query)])
def campaign_report(store: OpenStore, name: CampaignName) -> HTMLResponse:
    """Show one campaign."""
    return HTMLResponse(campaign_page(store, name, links=True), headers=PAGE_HEADERS)
