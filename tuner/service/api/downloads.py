"""A campaign as files: its report, the HPL.dat of its best run, and its trials."""

from collections.abc import Iterator
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from results.store.store import Store

from ...commands.stored.export import ExportRequest, export_study
from ..identity.caller import needs
from ..opened import CampaignName, OpenStore, no_query
from ..pages.rendered import PAGE_HEADERS, campaign_page

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", tags=["downloads"], dependencies=[needs("read"), Depends(no_query)]
)
CSV, JSON_LINES, PLAIN = "text/csv; charset=utf-8", "application/jsonl", "text/plain; charset=utf-8"


class CsvResponse(StreamingResponse):
    """Comma-separated values."""

    media_type = CSV


class JsonLinesResponse(StreamingResponse):
    """A JSON object on each line."""

    media_type = JSON_LINES


class PlainResponse(Response):
    """Text."""

    media_type = PLAIN


@router.get("/report.html", response_class=HTMLResponse)
def report(store: OpenStore, name: CampaignName) -> HTMLResponse:
    """Write the report of a campaign as one page that needs no network."""
    return HTMLResponse(campaign_page(store, name), headers={**PAGE_HEADERS, **_saved(f"{name}.html")})


@router.get("/HPL.dat", response_class=PlainResponse)
def hpl_dat(store: OpenStore, name: CampaignName) -> PlainResponse:
    """Write the HPL.dat of the best run of a campaign."""
    return PlainResponse("".join(_parts(store, name, "dat")), headers=_saved("HPL.dat"))


@router.get("/trials.csv", response_class=CsvResponse)
def trials_csv(store: OpenStore, name: CampaignName) -> CsvResponse:
    """Write all trials of a campaign as CSV, a line for each."""
    return CsvResponse(_parts(store, name, "csv"), headers=_saved(f"{name}.csv"))


@router.get("/trials.jsonl", response_class=JsonLinesResponse)
def trials_jsonl(store: OpenStore, name: CampaignName) -> JsonLinesResponse:
    """Write all trials of a campaign with their outputs as JSON lines."""
    return JsonLinesResponse(_parts(store, name, "jsonl"), headers=_saved(f"{name}.jsonl"))


def _parts(store: Store, name: str, kind: str) -> Iterator[str]:
    return export_study(store, ExportRequest(kind, name)).parts


def _saved(name: str) -> dict[str, str]:
    """Let a browser save an answer under a name."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
