"""A check of nodes as it is kept."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..stats.nodes.check import NodeCheck
from ..stats.nodes.finding import Finding


class NodeCheckState(StrEnum):
    """How far a check got."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class KeptCheck:
    """All that is kept of a check.

    Attributes:
        ready, alike: the verdict.
        findings: what the verdict stands on, the most serious first; also what is worse than in an earlier check.
        notes: what else people should know.
        virtual: the cluster is virtual, and nothing was measured.
        campaign: of the service, for which it was made; None for none.
    """

    check: NodeCheck
    state: NodeCheckState
    ready: bool
    alike: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    virtual: bool = False
    campaign: str | None = None


@dataclass(frozen=True)
class NodeCheckLine:
    """What a list tells of a check.

    Attributes:
        number: by which people call it.
        nodes: how many.
        findings: the sentences, the most serious first.
        baseline: people chose it to compare later ones with.
    """

    number: int
    cluster: str
    checked_at: datetime
    state: NodeCheckState
    nodes: int
    ready: bool
    alike: bool
    findings: tuple[str, ...]
    virtual: bool
    baseline: bool
    campaign: str | None
