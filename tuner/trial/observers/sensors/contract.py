"""The contract of sensors: what measures nodes while HPL solves on them.

A sensor is either files on each node, which the ranks' witness reads once a second (`hpl/native/conditions.c`), or is
asked from here. It raises nothing: where it cannot measure, it measures nothing. It never estimates.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from hpl.witness import NodeSeries
from runners.job import Job

from ....events import Listener
from ..contract import Measurements


class FileSensor(ABC):
    """Small files on each node with one number each.

    Attributes:
        globs: patterns of their paths, as `glob(3)` reads them; without a comma, blank or quote.
    """

    globs: ClassVar[Sequence[str]]

    @abstractmethod
    def measure(self, series: Sequence[NodeSeries], solve_s: float) -> Measurements:
        """Return what the files of all nodes tell of one solve of so many seconds.

        Args:
            series: one of each file that a glob of this sensor found on a node, and that could be read. Its times are
                seconds since the solve began there: the first about 0, the last about `solve_s`, others about a second
                apart; on a busy node some are missing. It may be empty.
        """


class PolledSensor(ABC):
    """A power meter that is asked from here about once a second, in a thread of its own.

    Attributes:
        source: name of its figures: "ipmi" gives "ipmi_energy_j" and "ipmi_power_w".
        interval_s: seconds between two readings.
    """

    source: ClassVar[str]
    interval_s: float = 1.0

    @classmethod
    @abstractmethod
    def of(cls, job: Job, nodes: Sequence[str], listener: Listener) -> Self | None:
        """Open the meter of the nodes of a job that will be submitted now; None where there is none.

        Args:
            nodes: names of the hosts that its ranks may be on; none where a batch system chooses them later.
            listener: is told once, by a `Notice`, of a meter that the user named and that cannot be asked.
        """

    @abstractmethod
    def read_w(self) -> float | None:
        """Ask for the power of all nodes together, in watts; None where that is not known now. It may block."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of what was opened; it is called once, also while `read_w` still blocks."""
