"""Shares of variance: what each parameter does alone, and what two do only together.

Shares are those of a functional analysis of variance over configurations that HPL can tell apart (I. Sobol', 1993;
F. Hutter, H. Hoos, K. Leyton-Brown, "An efficient approach for assessing hyperparameter importance", 2014), for joint
draws of the model, so that each has an uncertainty. Each configuration is compared with those that differ in the
parameters in question only. H is the statistic of J. Friedman and B. Popescu (2008): the part of the joint effect of
two parameters that is not the sum of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hpl.canonical import governed
from results.record import TrialRecord
from search_spaces.dimension import Scalar
from search_spaces.space import SearchSpace

from .engines.surrogate.pool import Pool

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Value:
    """One value of a parameter.

    Attributes:
        percent, sd: by how much the rate is better with it than with the average value, in percent.
        runs: trials that had it.
    """

    value: Scalar
    percent: float
    sd: float
    runs: int


@dataclass(frozen=True)
class Effect:
    """What a parameter does.

    Attributes:
        share, sd: part of the variance of all rates that is this parameter's alone.
        total: part of the variance it takes part in, alone or with others.
        values: best first.
    """

    name: str
    share: float
    sd: float
    total: float
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Pair:
    """How two parameters go together.

    Attributes:
        share, sd: part of the variance that only both together explain, no more than the total of either.
        h: part of their joint effect that is not the sum of their own, 0 to 1.
        best: for each value of `other` the best one of `one`.
    """

    one: str
    other: str
    share: float
    sd: float
    h: float
    best: Mapping[Scalar, Scalar]


def _grouped(codes: NDArray[np.intp], draws: Matrix) -> Matrix:
    """Mean of each draw over the points of each group, laid out per point: shape (draws, points)."""
    _, group = np.unique(codes, axis=0, return_inverse=True)
    group = group.ravel()
    sums = np.stack([np.bincount(group, weights=draw) for draw in draws])
    return np.asarray((sums / np.bincount(group))[:, group])


@dataclass(frozen=True)
class Landscape:
    """The configurations that are looked at, with draws of their rates.

    Attributes:
        labels: what the value numbers of each parameter mean; `codes` are those numbers, shape (points, parameters).
        draws: logarithms of rates, shape (draws, points).
        active: whether HPL looks at a parameter, shape (points, parameters).
    """

    names: Sequence[str]
    labels: Sequence[Sequence[str]]
    codes: NDArray[np.intp]
    draws: Matrix
    active: NDArray[np.bool_]

    @property
    def variance(self) -> Matrix:
        """Of each draw over all configurations."""
        return np.asarray(self.draws.var(axis=1))

    def apart(self, columns: Sequence[int], among: NDArray[np.bool_]) -> Matrix:
        """Each draw against its mean over the configurations that differ in some parameters only.

        What other parameters do is so taken out, though not every value is beside every other.

        Returns:
            Shape (draws, configurations among which it is taken).
        """
        others = self._held(columns)
        draws = self.draws[:, among]
        if not others:
            return np.asarray(draws - draws.mean(axis=1, keepdims=True))
        return np.asarray(draws - _grouped(self.codes[among][:, others], draws))

    def comparable(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Configurations in which HPL looks at some parameters, and beside which there is one that differs in them."""
        among = np.asarray(self.active[:, list(columns)].all(axis=1))
        others = self._held(columns)
        if not others or not among.any():
            return among
        _, group, count = np.unique(self.codes[:, others][among], axis=0, return_inverse=True, return_counts=True)
        found = among.copy()
        found[among] = count[group.ravel()] > 1
        return found

    def _held(self, columns: Sequence[int]) -> list[int]:
        moving = frozenset[str]().union(*(_moving(self.names[column]) for column in columns))
        return [at for at, name in enumerate(self.names) if at not in columns and name not in moving]


def _moving(name: str) -> frozenset[str]:
    """Parameters that are looked at, or have other values, depending on one: they cannot be held while that changes."""
    if name == "layout":
        return governed("grid") | {"grid"}
    return frozenset({"kernel"}) if name == "blas" else governed(name)


def effects(landscape: Landscape, space: SearchSpace, records: Sequence[TrialRecord]) -> tuple[Effect, ...]:
    """Effects of one parameter each, taken over the configurations in which HPL looks at it."""
    whole = landscape.variance
    found = []
    for number, name in enumerate(landscape.names):
        among = landscape.comparable([number])
        if not among.any():
            continue
        seen = landscape.active[:, number].mean()
        apart = landscape.apart([number], among)
        values = landscape.codes[among, number]
        own = _grouped(values[:, None], apart)
        share = seen * own.var(axis=1) / whole
        total = float(np.mean(seen * apart.var(axis=1) / whole))
        told = []
        for value in space.varying[name].values:
            at = np.isin(values, [code for code, label in enumerate(landscape.labels[number]) if _is(label, value)])
            if at.any():
                percent = 100 * np.expm1(own[:, at].mean(axis=1))
                runs = sum(record.params.get(name) == value for record in records)
                told.append(Value(value, float(percent.mean()), float(percent.std()), runs))
        ordered = tuple(sorted(told, key=lambda entry: -entry.percent))
        found.append(Effect(name, float(share.mean()), float(share.std()), total, ordered))
    return tuple(sorted(found, key=lambda effect: -effect.total))


def _is(label: str, value: Scalar) -> bool:
    """Whether a value stands for a label, which may begin with the library it belongs to."""
    return label == str(value) or label.endswith(f"/{value}")


def pairs(landscape: Landscape, pool: Pool, mean: Matrix, alone: Sequence[Effect]) -> tuple[Pair, ...]:
    """What only two parameters together explain, for each pair that is looked at together; the largest share first.

    Args:
        mean: of the model for each configuration of the pool.
        alone: what each of the parameters does.
    """
    whole = landscape.variance
    totals = {effect.name: effect.total for effect in alone}
    found = []
    for i, j in combinations([at for at, name in enumerate(landscape.names) if name in totals], 2):
        among = landscape.comparable([i, j])
        if not among.any():
            continue
        codes = landscape.codes[among][:, [i, j]]
        joint = _grouped(codes, landscape.apart([i, j], among))
        extra = joint - _sum_of_both(codes, joint)
        share = landscape.active[:, [i, j]].all(axis=1).mean() * extra.var(axis=1) / whole
        h = float(np.mean(np.sqrt(np.clip(extra.var(axis=1) / np.maximum(joint.var(axis=1), 1e-15), 0.0, 1.0))))
        one, other = _which_depends(pool, i, j)
        bounded = min(float(share.mean()), totals[one], totals[other])
        found.append(Pair(one, other, bounded, float(share.std()), h, _best_by(pool, mean, one, other)))
    return tuple(sorted(found, key=lambda pair: -pair.share))


def _sum_of_both(codes: NDArray[np.intp], joint: Matrix) -> Matrix:
    """The sum of two parameters' own effects that is nearest to their joint one, though not all values are combined."""
    sides = np.hstack([np.equal.outer(side, np.unique(side)) for side in codes.T]).astype(float)
    return np.asarray((sides @ np.linalg.lstsq(sides, joint.T, rcond=None)[0]).T)


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
