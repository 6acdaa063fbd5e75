"""What operators, supervisors and load balancers ask: who did what, metrics, whether the service lives and can work."""

import asyncio
import threading
from dataclasses import asdict
from datetime import datetime
from tempfile import TemporaryFile
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse

from results.store.service.audit import AuditAsked, AuditRow
from results.store.store import Store

from ...messages.campaigns import AskedQuery, Cursor
from ..authentication import needs
from ..parts import OpenStore, Parts, ServiceParts, no_query
from ..problems import OTHER_FILE, Problem
from .campaigns import Moment, Word
from .cursors import campaign_cursor, campaign_place

router = APIRouter()
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
MOST_S = 2.0
"""Seconds that the database and the disk have to answer."""
ASKED = threading.Lock()
"""Held while they are asked: where they hang, one thread waits for them, and who asks meanwhile gives up."""
PROBE_BYTES = 65_536
"""So much is written, and removed, to see that there is room; a trial needs less."""


class PrometheusResponse(PlainTextResponse):
    """Metrics as Prometheus reads them."""

    media_type = PROMETHEUS


class AuditQuery(AskedQuery):
    """Which actions."""

    who: Word | None = Field(None, description="a part of the name; capital letters do not matter")
    what: Word | None = Field(None, description="a part of the action or of its target")
    since: Moment | None = Field(None, description="done then or later, with its time zone")
    until: Moment | None = Field(None, description="done before then")
    limit: int = Field(100, ge=1, le=1000)
    cursor: Cursor | None = None


class ActionModel(BaseModel):
    """What somebody did or tried to do."""

    at: datetime
    who: str = Field(description="name of the token or user; empty where nobody knows")
    address: str = Field(description="from which the request came; empty for the command line")
    action: str = Field(description="method and address, or the command")
    target: str = Field(description="to what, as the name of a campaign or token")
    status: int = Field(description="of HTTP")
    detail: str

    @classmethod
    def of(cls, row: AuditRow) -> "ActionModel":
        """Tell of a row."""
        return cls(at=row.at, **asdict(row.noted))


class AuditPage(BaseModel):
    """Actions, newest first."""

    deeds: list[ActionModel] = Field(description="the actions; programs know them by this name of earlier versions")
    next_cursor: str | None = Field(description="the page of older ones begins here; null on the last page")


@router.get("/api/v1/audit", tags=["operators"], dependencies=[needs("admin")])
def audit(store: OpenStore, query: Annotated[AuditQuery, Query()]) -> AuditPage:
    """List who changed something, signed in or was refused, newest first."""
    return audited(
        store, AuditAsked(query.who or "", query.what or "", (), query.since, query.until), query.limit, query.cursor
    )


def audited(store: Store, asked: AuditAsked, limit: int, cursor: str | None) -> AuditPage:
    """One page of the audit log."""
    found = store.audit.newest(limit + 1, campaign_place(cursor) if cursor is not None else None, asked)
    shown = found[:limit]
    return AuditPage(
        deeds=[ActionModel.of(row) for row in shown],
        next_cursor=campaign_cursor(shown[-1].place) if len(found) > len(shown) else None,
    )


@router.get(
    "/metrics", tags=["operators"], response_class=PrometheusResponse, dependencies=[needs("read"), Depends(no_query)]
)
def metrics(parts: Parts) -> PrometheusResponse:
    """Tell what the service counts, as Prometheus reads it; programs on this machine need no token."""
    return PrometheusResponse(parts.metrics.text())


class Health(BaseModel):
    """How the service is."""

    status: str


@router.get("/healthz", tags=["health"])
async def healthz() -> Health:
    """Tell that the process answers."""
    return Health(status="ok")


@router.get("/readyz", tags=["health"])
async def readyz(parts: Parts) -> Health:
    """Tell that a campaign can be taken now: what is needed can be stored, and campaigns are started; else 503."""
    try:
        async with asyncio.timeout(MOST_S):
            await to_thread.run_sync(_require_room, parts, abandon_on_cancel=True)
    except TimeoutError:
        raise Problem(503, f"The database or the disk has not answered for {MOST_S:.0f} s.") from None
    duty = parts.dispatcher.duty
    if duty.stuck_s is not None:
        raise Problem(503, f"{duty.name} has done nothing for {duty.stuck_s:.0f} s: start the service again.")
    return Health(status="ready")


def _require_room(parts: ServiceParts) -> None:
    """Write to the database, which must be the one that was opened, and a little into each folder.

    Raises:
        Problem: nothing can be written, or it would be lost.
        ResultsError: the database cannot be read or written.
    """
    if not ASKED.acquire(timeout=MOST_S):
        raise Problem(503, f"The database or the disk has not answered for {MOST_S:.0f} s.")
    try:
        if not parts.dispatcher.has_its_database:
            raise Problem(503, OTHER_FILE)
        parts.store.lists.check()
        parts.store.queue.beat()
        for folder in parts.folders:
            try:
                with TemporaryFile(dir=folder) as file:
                    file.write(bytes(PROBE_BYTES))
            except OSError as error:
                raise Problem(503, f"Nothing can be stored: {error.strerror}.") from error
    finally:
        ASKED.release()
