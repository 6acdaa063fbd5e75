"""The configurations among which the model chooses."""

import random
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from search_spaces.dimension import Point, Scalar
from search_spaces.space import SearchSpace

from .axes import INERT, Axes, Codes, Matrix
from .physics import Probes, predicted_gflops
from .scales import Vector

WHOLE = 6_000
"""Spaces up to this size are held whole; of larger ones a sample, which grows around what turns out to be good."""
SAMPLE = 2_000
DRAWS = 6_000


class Pool:
    """Distinct points with their rows of value numbers and what the cost model says of them.

    Attributes:
        whole: it holds every point that HPL can tell apart.
    """

    def __init__(self, space: SearchSpace, seed: int, probes: Probes) -> None:
        self._space, self._probes = space, probes
        self._axes = Axes(space)
        self.points: list[dict[str, Scalar]] = []
        self.places: dict[str, int] = {}
        self._rows: list[list[int]] = []
        self._sizes: list[int] = []
        self._modelled: dict[float, list[float]] = {1.0: []}
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
        return np.array(self._rows, dtype=np.intp).reshape(len(self), -1)

    @property
    def sizes(self) -> Vector:
        """N of each point."""
        return np.array(self._sizes, dtype=float)

    def correlations(self) -> list[Matrix]:
        """Of each parameter between its values."""
        return [axis.correlation() for axis in self._axes.axes]

    def labels(self) -> list[list[str]]:
        """What the value numbers of each parameter mean."""
        return [list(axis.labels) for axis in self._axes.axes]

    def active(self) -> NDArray[np.bool_]:
        """Whether HPL looks at a parameter of a point, shape (points, parameters)."""
        inert = [axis.labels.get(INERT, -1) for axis in self._axes.axes]
        return np.asarray(self.codes != np.array(inert))

    def add(self, points: Iterable[Point]) -> None:
        """Take in points, those that are known already excepted."""
        for point in points:
            key = self._space.key(point)
            if key not in self.places:
                self.places[key] = len(self.points)
                self.points.append(dict(point))
                self._rows.append(self._axes.row(point))
                self._sizes.append(int(self._space.complete(point)["N"]))

    def place(self, key: str, point: Point) -> int:
        """The number of a point, which is added where it is new."""
        if key not in self.places:
            self.add([point])
        return self.places[key]

    def modelled(self, part: float = 1.0) -> Vector:
        """Logarithm of the cost model's rate of each point at a part of its N."""
        known = self._modelled.setdefault(part, [])
        for number in range(len(known), len(self)):
            full: Mapping[str, Scalar] = self._space.complete(self.points[number])
            N = max(1, round(part * self._sizes[number]))
            known.append(float(np.log(predicted_gflops(full, N, self._probes))))
        return np.array(known)

    @property
    def level(self) -> float:
        """What a mean of the process over these points lacks to be the logarithm of GFLOPS."""
        return float(np.mean(self.modelled()))

    def centred(self, part: float) -> Vector:
        """The cost model at a part of N, against its mean over the pool at the whole N."""
        return self.modelled(part) - self.level

    def _drawn(self, seed: int) -> Iterator[dict[str, Scalar]]:
        chance = random.Random(seed)  # noqa: S311 - not for secrets
        for _ in range(DRAWS):
            if len(self) >= SAMPLE:
                return
            yield self._space.point(chance.randrange(len(self._space)))
