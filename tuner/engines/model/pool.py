"""Holds the configurations among which the model chooses, as arrays of figures."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hpl.canonical import inert
from hpl.params import HplParams, Scalar, parse_grid
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SearchSpace

from ..base import Worth, in_gflops
from ..hpl_time import LinearModel, Shapes, shape_row, straightened
from ..outcomes import FULL, Fidelity, Rung
from ..points import Codes, Matrix, Vector
from ..probes import UNKNOWN, Prior, Probes, one_way, prior
from ..slowest_rank import SlowestRanks

INERT = "-"
"""What a parameter is where HPL does not look at it."""
SPAN = 2.0
"""Lengths of correlation in the whole range of an ordered parameter: two values at its ends have little in common."""
SMOOTH = 0.9
"""Part of an ordered parameter's effect that is smooth; the rest belongs to single values, as where NB fits a cache."""
KIN = {
    ("BCAST", "1rg", "1rM"): 0.7, ("BCAST", "1rg", "2rg"): 0.7, ("BCAST", "1rg", "2rM"): 0.6,
    ("BCAST", "1rM", "2rg"): 0.7, ("BCAST", "1rM", "2rM"): 0.8, ("BCAST", "2rg", "2rM"): 0.7,
    ("BCAST", "Lng", "LnM"): 0.7, ("SWAP", "long", "mix"): 0.8,
}  # fmt: skip
"""Words that mean similar algorithms: rings among rings, long broadcasts, mix which mostly is long (HPL's TUNING)."""


@dataclass
class Axis:
    """One parameter: the values met so far, and the correlation of each with each.

    Attributes:
        width: what the positions of all values span; 0 where they have no order.
    """

    name: str
    width: float
    labels: dict[str, int] = field(default_factory=dict)
    positions: list[float] = field(default_factory=list)

    def code(self, label: str, position: float) -> int:
        """The number of a value, a new one where it was not met before."""
        if label not in self.labels:
            self.labels[label] = len(self.labels)
            self.positions.append(position)
        return self.labels[label]

    def correlation(self) -> Matrix:
        """The correlations between all values met, shape (values, values); 1 on the diagonal."""
        same = np.eye(len(self.labels))
        if self.width > 0:
            place = np.array(self.positions)
            apart = np.abs(place[:, None] - place[None, :]) * SPAN / self.width
            smooth = (1 + math.sqrt(3) * apart) * np.exp(-math.sqrt(3) * apart)
            known = np.isfinite(place)
            smooth[~(known[:, None] & known[None, :])] = 0.0
            return np.asarray(np.where(same > 0, 1.0, SMOOTH * smooth))
        for (name, one, other), alike in KIN.items():
            if name == self.name and one in self.labels and other in self.labels:
                i, j = self.labels[one], self.labels[other]
                same[i, j] = same[j, i] = alike
        return same


class Axes:
    """The varying parameters of a space as axes, and points as rows of value numbers."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self.axes = [Axis(name, _width(name, parameter.values)) for name, parameter in space.varying.items()]

    @property
    def names(self) -> list[str]:
        """The parameters, in the order of the columns."""
        return [axis.name for axis in self.axes]

    def row(self, point: Point) -> list[int]:
        """The numbers of a point's values, in HPL's canonical form where several run alike."""
        words = self._space.representative(point)
        unused = inert(HplParams.from_words(self._space.complete(point)))
        return [axis.code(*self._place(axis, point, words, unused)) for axis in self.axes]

    def _place(self, axis: Axis, point: Point, words: Point, unused: frozenset[str]) -> tuple[str, float]:
        name = axis.name
        if name in unused or name not in point:
            return INERT, math.nan
        value = words[name]
        parameter = self._space.parameters[name]
        owner = f"{point[parameter.by]}/" if parameter.by == "blas" else ""
        return f"{owner}{value}", position(name, value) if axis.width else math.nan


def position(name: str, value: Scalar) -> float:
    """Where a value stands on its axis: logarithms to base 2 of sizes and of P / Q; not a number without order.

    Below 1, where DEPTH and thresholds have their 0 and parts of the memory lie, it goes on evenly: 1 stands at 0.
    """
    if name == "grid":
        P, Q = parse_grid(str(value))
        return math.log2(P / Q)
    if name == "layout":
        return math.log2(ranks_and_threads(value)[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return math.log2(value) if value >= 1 else value - 1.0


def _width(name: str, values: Sequence[Scalar]) -> float:
    places = [position(name, value) for value in values]
    if len(values) < 3 or not np.isfinite(places).all():
        return 0.0
    return max(places) - min(places)


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
        exact: a run comes out the same each time, so that no configuration is repeated and no run doubted.
    """

    def __init__(
        self, space: SearchSpace, seed: int, probes: Probes, worth: Worth = in_gflops, against: Worth = in_gflops
    ) -> None:
        self._space, self._axes, self.exact = space, Axes(space), probes.exact
        self._reader = PointReader(space, self._axes, probes, SlowestRanks(space.machine), worth, against)
        self._model = HplModel(prior(probes if one_way(space) else replace(probes, messages=None)))
        self.points: list[dict[str, Scalar]] = []
        self.places: dict[str, int] = {}
        self._table = PoolTable()
        self._modelled: dict[Rung, LinearModel] = {}
        self.whole = len(space) <= WHOLE
        self.add(space if self.whole else self._drawn(seed))
        best = float(self._model.straightened(self.shapes, FULL).mean.max())
        self._model = replace(self._model, best=best)

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

    def weigh_again(self) -> None:
        """Ask anew what a GFLOPS of each point is worth in the other objective."""
        self._table.weigh(np.log(np.array([self._reader.against(point) for point in self.points])))

    @property
    def of_two_objectives(self) -> bool:
        """Whether points are worth differently in the other objective, so that there is a front."""
        return bool(np.ptp(self.against) > 0)

    @property
    def model(self) -> "HplModel":
        """HPL's model as it is now."""
        return self._model

    def add_cliff(self, N: int) -> None:
        """Let runs at N and above be slower by a factor of their own, which runs tell."""
        self._model = replace(self._model, cliff=N)
        self._modelled.clear()

    def timed(self, place: int) -> bool:
        """Whether dgemm of a configuration's BLAS was timed, so that its predicted rate means something."""
        return self._reader.timed(self.points[place])

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
    slowest: SlowestRanks
    worth: Worth
    against: Worth

    def row(self, point: Point) -> PointRow:
        """All that the model sees of a point."""
        return PointRow(self.axes.row(point), self.shape(point), self.against(point))

    def timed(self, point: Point) -> bool:
        """Whether dgemm of a point's BLAS was timed."""
        return bool(self.probes.dgemm_gflops.get(str(self.space.complete(point)["blas"])))

    def shape(self, point: Point) -> tuple[float, ...]:
        """What HPL's model needs to know of a point."""
        full = self.space.representative(point)
        return shape_row(full, self.probes, self.worth(point), self.slowest.of(full))


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

    def weigh(self, against: Vector) -> None:
        """Take other logarithms of what a GFLOPS of each point is worth in the other objective."""
        codes, shapes, _ = self._known()
        self._rows = [replace(row, against=worth) for row, worth in zip(self._rows, np.exp(against), strict=True)]
        self._arrays = codes, shapes, against

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


WEIGHT_SD = 0.3
"""By how much the differences that HPL's model predicts may be too large or too small, as a part of them."""
CLIFF_SD = 1.0
"""Of how much slower runs beyond a cliff in N are, in the logarithm of the rate."""
FEATURES = 2 + len(UNKNOWN)
"""Slopes of HPL's model: the weight's, the cliff's, and those of the machine's figures."""
FIGURES = 0.7
"""Part of `UNKNOWN`'s deviations by which figures of the machine may differ: thirty of them explain anything. Chosen on
real tables of other people's clusters and simulated ones (docs/search-quality.md); with 1 real tables take longer, with
0 simulated ones."""


@dataclass(frozen=True)
class HplModel:
    """HPL's model: one feature of a configuration, whose weight is learnt, and straight lines in the machine's figures.

    Attributes:
        usual: figures of the machine after its probes, at which the model is linearised.
        best: logarithm of the highest rate that it predicts; differences from it are weighted.
        cliff: N from which on runs are slower by a factor of their own; infinite where no such N was found.
    """

    usual: Prior
    best: float = 0.0
    cliff: float = math.inf

    def straightened(self, shapes: Shapes, rung: Rung) -> LinearModel:
        """What the model says of configurations on a rung; the first slopes are the weight's and the cliff's."""
        columns = rung.part if rung.fidelity is Fidelity.PREFIX else 1.0
        line = straightened(shapes, self.usual, np.zeros(len(UNKNOWN)), rung.size, columns)
        mean = line.mean + np.log(shapes.worth[:, 0])
        weight = WEIGHT_SD * (mean - self.best)
        beyond = CLIFF_SD * (rung.size * shapes.N[:, 0] >= self.cliff)
        return LinearModel(mean, np.column_stack([weight, beyond, FIGURES * line.slopes]))
