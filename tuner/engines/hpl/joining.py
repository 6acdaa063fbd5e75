"""Works out what further runs in a launch are worth, by the model of the engine `hpl`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..arrays import Codes, Vector
from ..companions import Group, gathered
from ..fidelity import Rung
from ..model.belief import Belief
from ..model.pool import PointRows

ENOUGH = 1.5
"""A companion must be worth so many times as much by the second, without a launch, as the question with its launch: it
is chosen before that is answered."""


@dataclass(frozen=True)
class LaunchJoining:
    """A launch on a rung that others may join, whether the pool holds them or not.

    Attributes:
        belief: what is believed before it.
        starting_s: seconds of starting, which the runs share; `own_s` those that each adds beside HPL's own time.
        chance: of configurations, by their value numbers, that they run at all.
        key: identity of a point.
        free: whether a point may be asked on the rung.
    """

    belief: Belief
    rung: Rung
    starting_s: float
    own_s: float
    chance: Callable[[Codes], Vector]
    key: Callable[[Point], str]
    free: Callable[[Point], bool]

    def companions(self, space: SearchSpace, first: Point, most: int) -> Group:
        """Choose the companions of a point greedily, each as if those before had come out as expected.

        There are none where starting takes no time: alone, each run can follow from the one before.

        Args:
            most: how many at most.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        if self.starting_s <= 0:
            return []
        worth, seconds = self._worth_and_s(self.belief, self.belief.pool.rows([first]))
        least = ENOUGH * float(worth[0]) / (self.starting_s + float(seconds[0]))
        return gathered(space, first, most, self._by_the_second, least)

    def _by_the_second(self, before: Sequence[Point], groups: Sequence[Group]) -> list[float]:
        """The worth of each group per second; 0 if a point of it is asked already or has a value new to the model."""
        present = {self.key(point) for point in before}
        points = {self.key(point): point for group in groups for point in group}
        points = {key: point for key, point in points.items() if key not in present and self.free(point)}
        if not points:
            return [0.0] * len(groups)
        rows = self.belief.pool.rows(points.values())
        met = np.flatnonzero(self.belief.process.knows(rows.codes))
        believed = self.belief.fantasise(self.belief.pool.rows(before), self.rung)
        worth, seconds = self._worth_and_s(believed, rows.of(met))
        keys = list(points)
        weighed = {keys[place]: number for number, place in enumerate(met)}

        def by_the_second(group: Group) -> float:
            asked = [self.key(point) for point in group]
            if len(set(asked)) < len(asked) or not weighed.keys() >= set(asked):
                return 0.0
            numbers = [weighed[key] for key in asked]
            return float(worth[numbers].sum() / seconds[numbers].sum())

        return [by_the_second(group) for group in groups]

    def _worth_and_s(self, believed: Belief, rows: PointRows) -> tuple[Vector, Vector]:
        worth = believed.worth_of(rows, self.rung) * self.chance(rows.codes)
        return worth, believed.time_s_of(rows, self.rung) + self.own_s
