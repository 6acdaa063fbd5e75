"""Holds the configurations among which the model chooses, as arrays of figures."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar
from search_spaces.node_order import slowest_speed
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..arrays import Codes, Matrix, Vector
from ..context import Worth, in_gflops
from ..fidelity import FULL, Fidelity, Rung
from ..perf.hpl_time import Shapes, shape_row
from ..perf.linear_model import LinearModel, straightened
from ..perf.machine_figures import UNKNOWN, Prior, prior
from ..perf.probes import Probes, one_way
from .axes import INERT, Axes

WHOLE = 6_000
"""Spaces up to this size are held whole; of larger ones a sample, which grows around what turns out to be good."""
SAMPLE = 2_000
LARGEST = 10_000
"""Points from which on new neighbours take the places of points that look worst, so that no ask takes ever longer."""
DRAWS = 6_000
TIED = 1e-4
"""Difference in the logarithm of the rate up to which configurations are as fast to the model."""


@dataclass(frozen=True)
class PointRows:
    """Configurations as the model sees them, held by a pool or not.

    Attributes:
        codes: value numbers, shape (configurations, parameters).
        shapes: what HPL's model needs to know of them.
    """

    codes: Codes
    shapes: Shapes

    def of(self, numbers: NDArray[np.intp]) -> "PointRows":
        """The rows of some of the configurations."""
        return PointRows(self.codes[numbers], self.shapes.of(numbers))


class Pool:
    """Distinct points with their rows of value numbers and what HPL's model says of them.

    Args:
        worth: of a GFLOPS of a point in what is told of runs and asked of the model.
        against: the same in another objective, where the front of both is searched.

    Attributes:
        whole: it holds every point that HPL can tell apart.
    """

    def __init__(
        self, space: SearchSpace, seed: int, probes: Probes, worth: Worth = in_gflops, against: Worth = in_gflops
    ) -> None:
        self._space, self._axes = space, Axes(space)
        self._reader = PointReader(space, self._axes, probes, worth, against)
        self._model = HplModel(prior(probes if one_way(space) else replace(probes, messages=None)))
        self.points: list[dict[str, Scalar]] = []
        self.places: dict[str, int] = {}
        self._table = PoolTable()
        self._modelled: dict[Rung, LinearModel] = {}
        self.whole = len(space) <= WHOLE
        self.add(space if self.whole else self._drawn(seed))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def names(self) -> list[str]:
        """The varying parameters."""
        return self._axes.names

    @property
    def codes(self) -> Codes:
        """Value numbers, shape (points, parameters)."""
        return self._table.codes

    @property
    def shapes(self) -> Shapes:
        """What HPL's model needs to know of each point."""
        return self._table.shapes

    @property
    def against(self) -> Vector:
        """Logarithm of what a GFLOPS of each point is worth in the other objective; 0 where there is none."""
        return self._table.against

    @property
    def of_two_objectives(self) -> bool:
        """Whether points are worth differently in the other objective, so that there is a front."""
        return bool(np.ptp(self.against) > 0)

    def correlations(self) -> list[Matrix]:
        """The correlation between the values of each parameter."""
        return [axis.correlation() for axis in self._axes.axes]

    def labels(self) -> list[list[str]]:
        """The labels of the value numbers of each parameter."""
        return [list(axis.labels) for axis in self._axes.axes]

    def active(self) -> NDArray[np.bool_]:
        """Whether HPL looks at a parameter of a point, shape (points, parameters)."""
        inert = [axis.labels.get(INERT, -1) for axis in self._axes.axes]
        return np.asarray(self.codes != np.array(inert))

    def add(self, points: Iterable[Point], given_up: Iterator[int] | None = None) -> None:
        """Add the points that are not in the pool yet.

        Args:
            given_up: places that they take once the pool holds LARGEST, as far as there are any.
        """
        changed = []
        for point in points:
            key = self._space.key(point)
            if key in self.places:
                continue
            row = self._reader.row(point)
            place = next(given_up, None) if given_up is not None and len(self) >= LARGEST else None
            if place is None:
                self.places[key] = len(self.points)
                self.points.append(dict(point))
                self._table.append(row)
                continue
            del self.places[self._space.key(self.points[place])]
            self.places[key], self.points[place] = place, dict(point)
            self._table.replace(place, row)
            changed.append(place)
        for rung, known in self._modelled.items():
            here = [place for place in changed if place < len(known)]
            self._modelled[rung] = known.with_rows(here, self.modelled_at(here, rung)) if here else known

    def rows(self, points: Iterable[Point]) -> PointRows:
        """The rows of some points, at least one, whether the pool holds them or not."""
        found = list(points)
        codes = np.array([self._axes.row(point) for point in found], dtype=np.intp)
        return PointRows(codes, Shapes(np.array([self._reader.shape(point) for point in found])))

    def place(self, key: str, point: Point) -> int:
        """The number of a point; a new point is added."""
        if key not in self.places:
            self.add([point])
        return self.places[key]

    @property
    def moved(self) -> Vector:
        """How far HPL's model takes the machine to be from the usual one, in standard deviations."""
        return self._model.moved

    def move(self, moved: Vector) -> None:
        """Linearise HPL's model again, at the figures that the machine is believed to have now."""
        self._model = replace(self._model, moved=moved)
        self._modelled.clear()

    def modelled(self, rung: Rung) -> LinearModel:
        """What HPL's model says of each point on a rung."""
        shapes = self.shapes
        known = self._modelled.get(rung)
        if known is None:
            known = self._model.straightened(shapes, rung)
        elif len(known) < len(shapes):
            known = known.and_then(self._model.straightened(shapes.of(range(len(known), len(shapes))), rung))
        self._modelled[rung] = known
        return known

    def modelled_at(self, places: NDArray[np.intp] | Sequence[int], rung: Rung) -> LinearModel:
        """What HPL's model says of some points of the pool."""
        return self._model.straightened(self.shapes.of(places), rung)

    def modelled_of(self, rows: PointRows, rung: Rung) -> LinearModel:
        """What HPL's model says of configurations that the pool need not hold."""
        return self._model.straightened(rows.shapes, rung)

    def fastest_modelled(self, usual: Point) -> dict[str, Scalar]:
        """The point that HPL's model predicts to be the fastest.

        Args:
            usual: of several that it cannot tell apart, as it knows nothing of RFACT for instance, the nearest to this.
        """
        rate, wanted = self.modelled(FULL).mean, np.array(self._axes.row(usual))
        tied = np.flatnonzero(rate >= rate.max() - TIED)
        return dict(self.points[tied[np.argmax((self.codes[tied] == wanted).sum(axis=1))]])

    def _drawn(self, seed: int) -> Iterator[dict[str, Scalar]]:
        chance = random.Random(seed)  # noqa: S311 - not for secrets
        for _ in range(DRAWS):
            if len(self) >= SAMPLE:
                return
            yield self._space.point(chance.randrange(len(self._space)))


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
