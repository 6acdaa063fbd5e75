"""Whether the service lives, and whether it can work: for supervisors and load balancers."""

import asyncio
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryFile

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from ..background import stuck
from ..parts import Parts
from ..problems import Problem

router = APIRouter(tags=["health"])
MOST_S = 2.0
"""Seconds that the database and the disk have to answer."""
PROBE_BYTES = 65_536
"""So much is written, and removed, to see that there is room; a trial needs less."""


class Health(BaseModel):
    """How the service is."""

    status: str


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process answers."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(parts: Parts) -> Health:
    """Tell that the database can be read, that there is room on the disk, and that campaigns are started; else 503."""
    try:
        async with asyncio.timeout(MOST_S):
            await parts.answers.read(parts.store.lists.check)
            await run_in_threadpool(_require_room, parts.folders)
    except TimeoutError:
        raise Problem(503, f"The database or the disk has not answered for {MOST_S:.0f} s.") from None
    stopped = stuck(parts.duties)
    if stopped:
        raise Problem(503, f"{'; '.join(stopped)}: start the service again.")
    return Health(status="ready")


def _require_room(folders: Collection[Path]) -> None:
    """Write a little into each folder.

    Raises:
        Problem: nothing can be written.
    """
    for folder in folders:
        try:
            with TemporaryFile(dir=folder) as file:
                file.write(bytes(PROBE_BYTES))
        except OSError as error:
            raise Problem(503, f"Nothing can be stored: {error.strerror}.") from error
