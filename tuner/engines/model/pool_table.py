"""Turns the points of a pool into arrays of figures for the model."""

from dataclasses import dataclass, field

import numpy as np

from search_spaces.node_order import slowest_speed
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..arrays import Codes, Vector
from ..context import Worth
from ..fidelity import Fidelity, Rung
from ..perf.hpl_time import Shapes, shape_row
from ..perf.linear_model import LinearModel, straightened
from ..perf.machine_figures import UNKNOWN, Prior
from ..perf.probes import Probes
from .axes import Axes


@dataclass(frozen=True)
class PointRow:
    """What the model sees of one point.

    Attributes:
        codes: the numbers of its values.
        shape: what HPL's model needs to know of it.
        against: what a GFLOPS of it is worth in the other objective.
    """

    codes: list[int]
    shape: tuple[float, ...]
    against: float


@dataclass(frozen=True)
class PointReader:
    """Turns points into rows.

    Attributes:
        worth: of a GFLOPS of a point in what is told of runs and asked of the model.
        against: the same in another objective.
    """

    space: SearchSpace
    axes: Axes
    probes: Probes
    worth: Worth
    against: Worth

    def row(self, point: Point) -> PointRow:
        """All that the model sees of a point."""
        return PointRow(self.axes.row(point), self.shape(point), self.against(point))

    def shape(self, point: Point) -> tuple[float, ...]:
        """What HPL's model needs to know of a point."""
        full = self.space.representative(point)
        slowest = slowest_speed(full, self.space.machine) if "nodes_dropped" in full else 1.0
        return shape_row(full, self.probes, self.worth(point), slowest)


class PoolTable:
    """The rows of a pool, and the arrays of them, which are made anew after a row has changed."""

    def __init__(self) -> None:
        self._rows: list[PointRow] = []
        self._arrays: tuple[Codes, Shapes, Vector] | None = None

    def append(self, row: PointRow) -> None:
        """Add the row of a new point."""
        self._rows.append(row)
        self._arrays = None

    def replace(self, place: int, row: PointRow) -> None:
        """Put the row of a new point in place of another."""
        self._rows[place] = row
        self._arrays = None

    @property
    def codes(self) -> Codes:
        """Value numbers, shape (points, parameters)."""
        return self._known()[0]

    @property
    def shapes(self) -> Shapes:
        """What HPL's model needs to know of each point."""
        return self._known()[1]

    @property
    def against(self) -> Vector:
        """Logarithm of what a GFLOPS of each point is worth in the other objective."""
        return self._known()[2]

    def _known(self) -> tuple[Codes, Shapes, Vector]:
        if self._arrays is None:
            codes = np.array([row.codes for row in self._rows], dtype=np.intp).reshape(len(self._rows), -1)
            shapes = Shapes(np.array([row.shape for row in self._rows]))
            self._arrays = codes, shapes, np.log(np.array([row.against for row in self._rows]))
        return self._arrays


@dataclass(frozen=True)
class HplModel:
    """HPL's model, linearised at the figures that a machine is believed to have.

    Attributes:
        moved: how far the machine is from the usual, in standard deviations.
    """

    usual: Prior
    moved: Vector = field(default_factory=lambda: np.zeros(len(UNKNOWN)))

    def straightened(self, shapes: Shapes, rung: Rung) -> LinearModel:
        """What the model says of configurations on a rung."""
        columns = rung.part if rung.fidelity is Fidelity.PREFIX else 1.0
        line = straightened(shapes, self.usual, self.moved, rung.size, columns)
        return LinearModel(line.mean + np.log(shapes.worth[:, 0]), line.slopes)
