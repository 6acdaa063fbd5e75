"""What an engine is told of a study when it is made, beside the space and the seed."""

from collections.abc import Callable
from dataclasses import dataclass, field

from search_spaces.parameters.dimension import Point

from .perf.probes import Probes

Worth = Callable[[Point], float]


def in_gflops(_point: Point) -> float:
    """What a GFLOPS of any configuration is worth where GFLOPS are the objective."""
    return 1.0


@dataclass(frozen=True)
class EngineContext:
    """What the user asked for and what is known before the first run; each engine takes what it needs.

    Attributes:
        points: how many configurations a coarse grid has, None for a whole one.
        probes: what short measurements and a look at the machine tell.
        worth: what a GFLOPS of a configuration is worth in the objective.
        against: the same in the second objective, where the study searches a front of both.
    """

    points: int | None = None
    probes: Probes = field(default_factory=Probes)
    worth: Worth = in_gflops
    against: Worth = in_gflops


NOTHING_KNOWN = EngineContext()
