"""The contract of sensors: what measures nodes while HPL solves on them.

A sensor is files on each node, which the ranks' witness reads once a second (`hpl/native/conditions.c`). It raises
nothing: where it cannot measure, it measures nothing, and it never estimates. What tells power is read by `../energy/`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hpl.witness import NodeSeries


@dataclass(frozen=True)
class SensorLine:
    """What a sensor tells of one node over the time of a solve.

    Attributes:
        what: it is, as a title.
        unit: of its values.
        times_s: rising, in seconds since the solve began.
        values: one of each time.
    """

    what: str
    unit: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]


class FileSensor(ABC):
    """Small files on each node with one number each.

    Attributes:
        globs: patterns of their paths, as `glob(3)` reads them; without a comma, blank or quote.
        kind: of what it measures, as a noun that can follow "the".
        words: of each figure that it measures, by its name with a unit; first the one that is always there.
    """

    globs: ClassVar[Sequence[str]]
    kind: ClassVar[str]
    words: ClassVar[Mapping[str, Callable[[float], str]]]

    @abstractmethod
    def measure(self, series: Sequence[NodeSeries]) -> Mapping[str, float]:
        """Return what the files of all nodes tell of one solve.

        Args:
            series: one of each file that a glob of this sensor found on a node, and that could be read. Its times are
                seconds since the solve began there: the first about 0, the last about its end, others about a second
                apart; on a busy node some are missing. It may be empty.
        """

    def line(self, series: Sequence[NodeSeries]) -> SensorLine | None:
        """Return what the files of one node tell over time; None where that is no line worth drawing."""
        del series
        return None
