"""Addresses for operators: metrics, and who did what."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse

from results.store.service.audit import AuditRow

from ...messages.campaigns import AskedQuery, Cursor
from ..authentication import needs
from ..parts import OpenStore, Parts, no_query
from .cursors import campaign_cursor, campaign_place

router = APIRouter(tags=["operators"])
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class PrometheusResponse(PlainTextResponse):
    """Metrics as Prometheus reads them."""

    media_type = PROMETHEUS


class AuditQuery(AskedQuery):
    """Which deeds."""

    limit: int = Field(100, ge=1, le=1000)
    cursor: Cursor | None = None


class DeedModel(BaseModel):
    """What somebody did or tried to do."""

    at: datetime
    who: str = Field(description="name of the token or user; empty where nobody knows")
    address: str = Field(description="from which the request came; empty for the command line")
    action: str = Field(description="method and address, or the command")
    target: str = Field(description="to what, as the name of a campaign or token")
    status: int = Field(description="of HTTP")
    detail: str

    @classmethod
    def of(cls, row: AuditRow) -> "DeedModel":
        """Tell of a row."""
        return cls(at=row.at, **asdict(row.deed))


class AuditPage(BaseModel):
    """Deeds, newest first."""

    deeds: list[DeedModel]
    next_cursor: str | None = Field(description="the page of older ones begins here; null on the last page")


@router.get("/api/v1/audit", dependencies=[needs("admin")])
def audit(store: OpenStore, query: Annotated[AuditQuery, Query()]) -> AuditPage:
    """List who changed something, signed in or was refused, newest first."""
    before = campaign_place(query.cursor) if query.cursor is not None else None
    found = store.audit.newest(query.limit + 1, before)
    shown = found[: query.limit]
    return AuditPage(
        deeds=[DeedModel.of(row) for row in shown],
        next_cursor=campaign_cursor(shown[-1].place) if len(found) > len(shown) else None,
    )


@router.get("/metrics", response_class=PrometheusResponse, dependencies=[needs("read"), Depends(no_query)])
def metrics(parts: Parts) -> PrometheusResponse:
    """Tell what the service counts, as Prometheus reads it; programs on this machine need no token."""
    return PrometheusResponse(parts.metrics.text())
