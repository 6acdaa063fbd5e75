"""Says how alike two values of a parameter are, before anything is measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hpl.canonical import inert
from hpl.params import HplParams, Scalar, parse_grid
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SearchSpace

from ..arrays import Matrix

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
