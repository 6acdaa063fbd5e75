"""What would come of a campaign, before it is handed in."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from ..campaigns.kinds.registry import AnyDocument
from ..campaigns.preview import Preview
from ..parts import no_query
from ..responses import PlainPathsResponse
from .queue_access import DocumentRoute, OpenQueue

router = APIRouter(prefix="/api/v1", tags=["queue"], dependencies=[Depends(no_query)], route_class=DocumentRoute)


class PreviewModel(BaseModel):
    """What would come of a document."""

    nodes: list[str] = Field(description="the machines that it would work on")
    simulated: bool
    points: int | None = Field(description="valid combinations of its space there; null where only its nodes can tell")
    limits: str = Field(description="what ends it")
    longest_s: float | None = Field(description="its budget by the clock; null where time by the clock ends nothing")
    machine_s: float | None = Field(description="its budget in time of the machine that is tuned")
    usd: float | None = Field(description="what that time of the machine costs; null without a price or a power")
    ahead: list[str] = Field(description="campaigns that its machines work on before")
    wait_s: float | None = Field(description="until their budgets are used up; null where one has no limit in time")
    cautions: list[str]

    @classmethod
    def of(cls, seen: Preview) -> "PreviewModel":
        """Tell of a preview."""
        expected = seen.expected
        return cls(
            nodes=list(seen.nodes),
            simulated=expected.simulated,
            points=seen.points,
            limits=expected.limits,
            longest_s=expected.longest_s,
            machine_s=expected.machine_s,
            usd=None if expected.usd is None else round(expected.usd, 4),
            ahead=list(seen.ahead),
            wait_s=seen.wait_s,
            cautions=list(seen.cautions),
        )


@router.post("/previews", response_class=PlainPathsResponse)
def preview_of(document: AnyDocument, queue: OpenQueue) -> PreviewModel:
    """Tell what would come of a document: the size of its space, its budget and cost, and what runs before it."""
    return PreviewModel.of(queue.preview(document))
