"""Runs of one program on different numbers of nodes, and what people call them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Scaling(StrEnum):
    """How the problem grows with the nodes.

    WEAK: the memory of each node stays the same, so N grows with the root of the nodes. STRONG: N stays the same.
    """

    WEAK = "weak"
    STRONG = "strong"


class NodeOrder(StrEnum):
    """Which nodes run, and in which order ranks fill them.

    SORTED: the first ones, as the cluster lists them. SHUFFLED: random ones in random order, drawn anew for each run.
    """

    SORTED = "sorted"
    SHUFFLED = "shuffled"


@dataclass(frozen=True)
class ScalingRun:
    """One valid run.

    Attributes:
        count: nodes, or ranks on one machine.
        operations: floating-point operations of the run.
        time_s: HPL's own time.
        phases_s: seconds of each part of the run by its name in `overhead.PARTS`; empty if HPL did not time them.
    """

    scaling: Scaling
    order: NodeOrder
    count: int
    N: int
    grid: str
    gflops: float
    operations: float
    time_s: float
    phases_s: Mapping[str, float] = field(default_factory=dict, hash=False)


class OfKind(Protocol):
    """Something of one kind of scaling and one order of the nodes."""

    @property
    def scaling(self) -> Scaling:
        """The kind of scaling."""

    @property
    def order(self) -> NodeOrder:
        """The order of the nodes."""


def alike(one: OfKind, other: OfKind) -> bool:
    """Return whether both are of the same kind of scaling and order of the nodes."""
    return (one.scaling, one.order) == (other.scaling, other.order)


@dataclass(frozen=True)
class RunGroup:
    """The runs of one kind of scaling and one order of the nodes, by number of nodes, the smallest number first."""

    scaling: Scaling
    order: NodeOrder
    runs: Mapping[int, tuple[ScalingRun, ...]] = field(hash=False)

    @property
    def smallest(self) -> int:
        """The number of nodes that all others are compared with."""
        return next(iter(self.runs))

    @property
    def largest(self) -> int:
        """The largest number of nodes."""
        return next(reversed(tuple(self.runs)))


def groups(runs: Iterable[ScalingRun]) -> list[RunGroup]:
    """Sort runs into groups: weak before strong, sorted before shuffled."""
    found = list(runs)
    made = []
    for scaling in Scaling:
        for order in NodeOrder:
            own = [run for run in found if (run.scaling, run.order) == (scaling, order)]
            counts = sorted({run.count for run in own})
            by_count = {count: tuple(run for run in own if run.count == count) for count in counts}
            if by_count:
                made.append(RunGroup(scaling, order, by_count))
    return made
