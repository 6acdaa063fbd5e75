"""What the API answers about checks of nodes."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from results.store.node_checks import NodeCheckLine, NodeCheckState


class NodeCheckModel(BaseModel):
    """A check of the nodes of a cluster, as a list tells it."""

    number: int
    cluster: str
    checked_at: datetime
    state: NodeCheckState
    nodes: int
    ready: bool = Field(description="nothing was found that makes a node slow or wrong")
    alike: bool = Field(description="and nothing is odd")
    sentences: list[str] = Field(description="what was found, the most serious first")
    virtual: bool = Field(description="nothing was measured")
    baseline: bool = Field(description="people chose it to compare later ones with")
    campaign: str | None = Field(description="that made it")

    @classmethod
    def of(cls, line: NodeCheckLine) -> Self:
        """Tell of a check."""
        return cls(
            number=line.number,
            cluster=line.cluster,
            checked_at=line.checked_at,
            state=line.state,
            nodes=line.nodes,
            ready=line.ready,
            alike=line.alike,
            sentences=list(line.findings),
            virtual=line.virtual,
            baseline=line.baseline,
            campaign=line.campaign,
        )


class NodeCheckPage(BaseModel):
    """Checks, newest first."""

    checks: list[NodeCheckModel]
    next_cursor: str | None


class WholeNodeCheckModel(NodeCheckModel):
    """A check with all that was found."""

    names: list[str] = Field(description="the nodes in their order")
    silent: dict[str, str] = Field(description="by node why it did not answer")
    out: list[str] = Field(description="nodes that must not be used")
    slow: list[str] = Field(description="nodes that would slow a run down")
    scores: dict[str, float] = Field(description="by node how far its worst benchmark is from the median, in percent")
    waiting: list[dict[str, Any]] = Field(description="by class of nodes what its slowest nodes cost HPL, odd or not")
    findings: list[dict[str, Any]] = Field(description="severity out, slow, odd or note; names; sentence; percent")
    results: dict[str, dict[str, float]] = Field(description="by benchmark and node its best result")
    facts: dict[str, dict[str, str]] = Field(description="by fact its value on each node")
    notes: list[str]
