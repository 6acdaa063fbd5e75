"""Splits the variance of rates: what each parameter does alone, and what two do only together.

Shares are those of a functional analysis of variance (I. Sobol', 1993; F. Hutter, H. Hoos, K. Leyton-Brown, "An
efficient approach for assessing hyperparameter importance", 2014) over the points of a space, with those that HPL
cannot tell apart at one rate, for joint draws of the model, so that each share has an uncertainty. Points are compared
with those that differ in the parameters in question only, and a sum of effects is taken out by least squares, because
not every value is beside every other. H is the statistic of J. Friedman and B. Popescu (2008): the part of the joint
effect of two parameters that is not the sum of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar
from results.record import TrialRecord
from results.stats.intervals import half_95
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.model.pool import Pool

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Numbers = NDArray[np.intp]

ROUNDS = 100
"""Times at most that two effects are taken out in turn."""
PLUS_MINUS = "±: half of the 95 % interval, by the model."
"""What stands behind each ± of an explanation, as the error bars of its figures."""
STILL = 1e-10
"""Change in the logarithm of a rate below which they are."""


@dataclass(frozen=True)
class Value:
    """One value of a parameter.

    Attributes:
        percent, sd: by how much the rate is better with it than with the average value, in percent.
        runs: trials that had it, or one that HPL treats alike.
        behind_percent: by how much the rate is lower than with the best value that ran, in percent; 0 for that one.
        behind_range: between which that is with a probability of 95 %.
        alike: further values of the space that HPL treats like this one in all of its points.
    """

    value: Scalar
    percent: float
    sd: float
    runs: int
    behind_percent: float
    behind_range: tuple[float, float]
    alike: tuple[Scalar, ...] = ()

    @property
    def words(self) -> str:
        """The value with those that HPL treats alike, as "1rM = 2rM"."""
        return " = ".join(map(str, (self.value, *self.alike)))


@dataclass(frozen=True)
class Effect:
    """The effect of one parameter.

    Attributes:
        share, sd: part of the variance of all rates that is this parameter's alone.
        total, total_sd: part of the variance it takes part in, alone or with others.
        values: best first, those that ran before those that did not.
    """

    name: str
    share: float
    sd: float
    total: float
    total_sd: float
    values: tuple[Value, ...]

    @property
    def ran(self) -> tuple[Value, ...]:
        """The values that trials had; the others are estimates."""
        return tuple(value for value in self.values if value.runs)

    @property
    def tied(self) -> bool:
        """Whether the runs do not tell the best value from the worst, or had one value alone."""
        return all(value.behind_range[0] <= 0 for value in self.ran)


@dataclass(frozen=True)
class Pair:
    """The interaction of two parameters.

    Attributes:
        share, sd: part of the variance that only both together explain.
        h, h_sd: part of their joint effect that is not the sum of their own, 0 to 1.
        best: for each value of `other` the best one of `one`.
    """

    one: str
    other: str
    share: float
    sd: float
    h: float
    h_sd: float
    best: Mapping[Scalar, Scalar]


def deciders(space: SearchSpace) -> dict[str, str]:
    """The parameters whose legal values depend on another one that varies, with that one."""
    found = {name: parameter.by for name, parameter in space.varying.items() if parameter.by in space.varying}
    known = {name: by for name, by in found.items() if by is not None}
    return known | ({"grid": "layout"} if {"grid", "layout"} <= space.varying.keys() else {})


@dataclass(frozen=True)
class Landscape:
    """The points of an explanation, with draws of their rates.

    Attributes:
        asked: the number of each parameter's value in its point, shape (points, parameters).
        codes: the same of the value that HPL then has, whose meaning `labels` gives for each parameter.
        draws: logarithms of rates, shape (draws, points).
        variance: of each draw over the whole space.
        active: whether HPL looks at a parameter, shape (points, parameters).
        deciders: of parameters whose legal values depend on another one, that one.
    """

    names: Sequence[str]
    labels: Sequence[Sequence[str]]
    asked: Numbers
    codes: Numbers
    draws: Matrix
    variance: Matrix
    active: NDArray[np.bool_]
    deciders: Mapping[str, str]

    @classmethod
    def over(
        cls, space: SearchSpace, pool: Pool, points: Sequence[Point], draws: Matrix, variance: Matrix
    ) -> "Landscape":
        """Of legal points, each once; the pool holds them, or such as HPL cannot tell from them."""
        varying = space.varying.items()
        places = [pool.places[space.key(point)] for point in points]
        asked = [[one.values.index(point[name]) if name in point else -1 for name, one in varying] for point in points]
        return cls(
            names=pool.names,
            labels=pool.labels(),
            asked=np.array(asked, dtype=np.intp),
            codes=pool.codes[places],
            draws=draws,
            variance=variance,
            active=pool.active()[places],
            deciders=deciders(space),
        )

    def family(self, column: int) -> list[int]:
        """A parameter and those that must change with it."""
        behind = [at for at, name in enumerate(self.names) if self.deciders.get(name) == self.names[column]]
        return [column, *(one for at in behind for one in self.family(at))]

    def held(self, *columns: int) -> list[int]:
        """The parameters that are asked alike while some change: all that need not change with these."""
        moving = {one for column in columns for one in self.family(column)}
        return [at for at in range(len(self.names)) if at not in moving]

    def alike(self, column: int, values: Sequence[Scalar]) -> list[tuple[Scalar, ...]]:
        """The values of a parameter, those together that HPL treats alike in all points."""
        found: dict[frozenset[tuple[int, ...]], list[Scalar]] = {}
        for number, value in enumerate(values):
            asked = self.asked[:, column] == number
            points = np.delete(self.asked[asked], column, axis=1)
            meant = np.column_stack([points, self.codes[asked, column]])
            found.setdefault(frozenset(map(tuple, meant.tolist())), []).append(value)
        return [tuple(each) for each in found.values()]

    def groups(self, among: NDArray[np.bool_], held: Sequence[int], had: Sequence[int]) -> Numbers:
        """Numbers of the groups of points in which some parameters are asked alike, and HPL has others alike."""
        alike = np.hstack([self.asked[among][:, held], self.codes[among][:, had]])
        if not alike.size:
            return np.zeros(len(alike), dtype=np.intp)
        return np.asarray(np.unique(alike, axis=0, return_inverse=True)[1]).ravel()

    def comparable(self, column: int) -> NDArray[np.bool_]:
        """Points in which HPL looks at a parameter, and beside which there is one that differs in it."""
        found = np.asarray(self.active[:, column]).copy()
        held = self.held(column)
        found[found] = _counted(self.groups(found, held, []), self.groups(found, held, [column])) > 1
        return found

    def crossed(self, i: int, j: int) -> NDArray[np.bool_]:
        """Points in which HPL looks at two parameters, beside enough others to tell more than a sum of effects."""
        found = np.asarray(self.active[:, [i, j]].all(axis=1))
        held, one, other = self.held(i, j), self.family(i), self.family(j)
        beside = self.groups(found, held, [])
        rows, columns, cells = (_counted(beside, self.groups(found, held, had)) for had in (one, other, [*one, *other]))
        found[found] = cells > rows + columns - 1
        return found

    def part(self, among: NDArray[np.bool_], *columns: int) -> float:
        """Part of all points that what was found among some says something of: where parameters can be others too.

        That is where HPL looks at them, and where they depend on what it is among these.
        """
        found = np.asarray(self.active[:, columns].all(axis=1))
        for column in columns:
            by = self.deciders.get(self.names[column])
            if by is not None:
                decided = self.asked[:, self.names.index(by)]
                found = found & np.isin(decided, decided[among])
        return float(found.mean())


def _counted(groups: Numbers, parts: Numbers) -> Numbers:
    """How many parts the group of each point has, where each part lies in one group."""
    _, firsts = np.unique(parts, return_index=True)
    return np.asarray(np.bincount(groups[firsts])[groups])


def _mean(draws: Matrix, groups: Numbers) -> Matrix:
    """Mean of each draw over the points of each group, laid out per point: shape (draws, points)."""
    sums = np.stack([np.bincount(groups, weights=draw) for draw in draws])
    return np.asarray((sums / np.bincount(groups))[:, groups])


def _taken_out(draws: Matrix, first: Numbers, second: Numbers) -> tuple[Matrix, Matrix]:
    """The sum of an effect of each of two groupings that is nearest to the draws.

    Returns:
        The second's effect, and what the sum leaves.
    """
    effect, rest = np.zeros_like(draws), draws
    for _ in range(ROUNDS):
        step = _mean(rest - _mean(rest, first), second)
        effect, rest = effect + step, draws - effect - step
        if np.abs(step).max() < STILL:
            break
    return effect, rest - _mean(rest, first)


def effects(landscape: Landscape, space: SearchSpace, records: Sequence[TrialRecord]) -> tuple[Effect, ...]:
    """Effects of one parameter each, taken over the points in which HPL looks at it."""
    whole = landscape.variance
    found = []
    for number, name in enumerate(landscape.names):
        among = landscape.comparable(number)
        if not among.any():
            continue
        held, value_groups = landscape.held(number), landscape.groups(among, [], [number])
        family = landscape.groups(among, [], landscape.family(number))
        each, rest = _taken_out(landscape.draws[:, among], landscape.groups(among, held, []), family)
        own = _mean(each, value_groups)
        with_others = _mean(rest, landscape.groups(among, held, [number]))
        part = landscape.part(among, number)
        share = part * own.var(axis=1) / whole
        total = share + part * with_others.var(axis=1) / whole
        rates: dict[tuple[Scalar, ...], Vector] = {}
        for alike in landscape.alike(number, space.varying[name].values):
            at = np.isin(landscape.asked[among, number], [space.varying[name].values.index(value) for value in alike])
            if at.any():
                rates[alike] = own[:, at].mean(axis=1)
        runs = {alike: sum(record.params.get(name) in alike for record in records) for alike in rates}
        sds = float(share.std()), float(total.std())
        found.append(Effect(name, float(share.mean()), sds[0], float(total.mean()), sds[1], _values(rates, runs)))
    return tuple(sorted(found, key=lambda effect: -effect.total))


def _values(rates: Mapping[tuple[Scalar, ...], Vector], runs: Mapping[tuple[Scalar, ...], int]) -> tuple[Value, ...]:
    """Compare values with their average and with the best of those that ran; these come first, the best before others.

    Args:
        rates: draws of the logarithm of the rate with each value, and with those that HPL treats alike, above that with
            the average value.
        runs: how many trials had them.
    """
    percents = {alike: 100 * np.expm1(rate) for alike, rate in rates.items()}
    ordered = sorted(rates, key=lambda alike: (not runs[alike], -float(percents[alike].mean())))
    told = []
    for alike in ordered:
        behind = rates[ordered[0]] - rates[alike]
        middle, margin = float(behind.mean()), half_95(float(behind.std()))
        least, likely, most = (-100 * math.expm1(-one) for one in (middle - margin, middle, middle + margin))
        percent, (value, *others) = percents[alike], alike
        mean, sd = float(percent.mean()), float(percent.std())
        told.append(Value(value, mean, sd, runs[alike], likely, (least, most), tuple(others)))
    return tuple(told)


def pairs(landscape: Landscape, pool: Pool, mean: Matrix, alone: Sequence[Effect]) -> tuple[Pair, ...]:
    """What only two parameters together explain, for each pair whose values are combined; the largest share first.

    Args:
        mean: of the model for each configuration of the pool.
        alone: what each of the parameters does.
    """
    whole = landscape.variance
    totals = {effect.name: effect.total for effect in alone}
    found = []
    for i, j in combinations([at for at, name in enumerate(landscape.names) if name in totals], 2):
        among = landscape.crossed(i, j)
        if not among.any():
            continue
        draws, held, cells = landscape.draws[:, among], landscape.held(i, j), landscape.groups(among, [], [i, j])
        joint = _mean(draws - _mean(draws, landscape.groups(among, held, [])), cells)
        _, rest = _taken_out(draws, *(landscape.groups(among, held, landscape.family(one)) for one in (i, j)))
        extra = _mean(rest, cells)
        share = landscape.part(among, i, j) * extra.var(axis=1) / whole
        h = np.sqrt(np.clip(extra.var(axis=1) / np.maximum(joint.var(axis=1), 1e-15), 0.0, 1.0))
        one, other = _which_depends(pool, i, j)
        bounded = min(float(share.mean()), totals[one], totals[other])
        best = _best_by(pool, mean, one, other)
        found.append(Pair(one, other, bounded, float(share.std()), float(h.mean()), float(h.std()), best))
    return tuple(sorted(found, key=lambda pair: -pair.share))


def _which_depends(pool: Pool, i: int, j: int) -> tuple[str, str]:
    """The pair with the parameter of more values first: its best value is told for each of the other's."""
    names = pool.names
    counts = [len({point.get(name) for point in pool.points}) for name in (names[i], names[j])]
    return (names[i], names[j]) if counts[0] >= counts[1] else (names[j], names[i])


def _best_by(pool: Pool, mean: Matrix, one: str, other: str) -> dict[Scalar, Scalar]:
    found: dict[Scalar, tuple[float, Scalar]] = {}
    for place, point in enumerate(pool.points):
        if one in point and other in point:
            rate = float(mean[place])
            if point[other] not in found or rate > found[point[other]][0]:
                found[point[other]] = (rate, point[one])
    return {value: best for value, (_, best) in found.items()}
