"""Addresses for operators: metrics, and who did what."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated

import psutil
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse

from results.store.service.audit import AuditRow
from results.store.service.campaign_entry import QueueState
from results.store.store import Store

from ...messages.campaigns import AskedQuery, Cursor
from ..api.cursors import campaign_cursor, campaign_place
from ..identity.caller import needs
from ..opened import OpenStore, no_query
from .metrics import RequestMetrics, family, figure

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
        deed = row.deed
        return cls(
            at=row.at,
            who=deed.who,
            address=deed.address,
            action=deed.action,
            target=deed.target,
            status=deed.status,
            detail=deed.detail,
        )


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
def metrics(request: Request, store: OpenStore) -> PrometheusResponse:
    """Tell what the service counts, as Prometheus reads it; programs on this machine need no token."""
    counted = request.app.state.metrics
    assert isinstance(counted, RequestMetrics)  # noqa: S101 - made with the application
    watchers = figure(
        "hpltune_watchers", "gauge", "Streams of live events that are open.", request.app.state.live.watchers
    )
    return PrometheusResponse("".join([*counted.text(), *_of_campaigns(store), watchers, *_of_process()]))


def _of_campaigns(store: Store) -> Iterator[str]:
    facts = store.queue_facts()
    states = [("", {"state": state.value}, facts.counts.get(state, 0)) for state in QueueState]
    yield from family("hpltune_campaigns", "gauge", "Campaigns that were handed in.", states)
    oldest_s = 0.0 if facts.oldest is None else (datetime.now(UTC) - facts.oldest).total_seconds()
    said = "Time for which the campaign has waited that waits longest."
    yield figure("hpltune_queue_oldest_seconds", "gauge", said, max(0.0, oldest_s))


def _of_process() -> Iterator[str]:
    process = psutil.Process()
    with process.oneshot():
        memory, cpu, begun = process.memory_info().rss, process.cpu_times(), process.create_time()
    yield from family("hpltune_info", "gauge", "The version that runs.", [("", {"version": version("hpltune")}, 1)])
    yield figure("process_resident_memory_bytes", "gauge", "Resident memory of the server.", memory)
    yield figure("process_cpu_seconds_total", "counter", "Processor time of the server.", cpu.user + cpu.system)
    yield figure("process_start_time_seconds", "gauge", "When the server began, in seconds since 1970.", begun)
