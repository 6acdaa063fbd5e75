"""Whether the service lives, and whether it can work: for supervisors and load balancers."""

from fastapi import APIRouter
from pydantic import BaseModel

from ..kept.answers import KeptAnswers
from ..opened import OpenStore

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """How the service is."""

    status: str


@router.get("/healthz")
async def healthz() -> Health:
    """Tell that the process answers."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(store: OpenStore, answers: KeptAnswers) -> Health:
    """Tell that the database can be read; 503 where it cannot."""
    await answers.read(store.lists.check)
    return Health(status="ready")
