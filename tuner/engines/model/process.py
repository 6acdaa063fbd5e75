"""A Gaussian process over configurations and rungs: it predicts all runs from those so far.

The logarithm of HPL's rate is taken as what HPL's algorithm says, where a few quantities of the machine are unknown,
plus effects that are learnt:

    full run    f(x) = model(x, quantities) + sum_d a_d g_d + sum_{d<e} sqrt(pair a_d a_e) g_de + rest
    rung r      f_r(x) = f(x) at the rung's N and columns + offset_r + apart_r times effects of the same kind
    a run       y = f_r(x) + session + noise_r

so each parameter has an effect of its own, pairs interact as far as the data support it, and what a small run or a
prefix misses is learnt from the runs that went further. The kernel of additive effects follows D. Duvenaud, H. Nickisch
and C. Rasmussen, "Additive Gaussian processes" (2011); the rungs M. Kennedy and A. O'Hagan, "Predicting the output from
a complex computer code when fast approximations are available", Biometrika 87 (2000). The model is a straight line in
its quantities (`perf/linear_model.py`). `scale_search.py` finds the scales.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from ..hpl_time import LinearModel
from ..points import Codes, Matrix, Vector
from .covariance import (
    LEAST_NOISE,
    LEVEL_SD,
    OFFSET_SD,
    Effects,
    FitError,
    RunCovariance,
    Runs,
    Scales,
    cholesky_root,
    elsewhere_variance,
)

AT_ONCE = 4_000
"""Configurations whose covariance with all runs is in memory at a time."""
REMEMBERED = 4
"""Arrays of configurations whose covariance with the runs is remembered."""

STEPS = 25


class Process:
    """A Gaussian process that is conditioned on runs.

    Args:
        correlations: of each axis between its values, shape (values, values).
        level: of all runs where the data tell nothing; by default the mean of the full ones.

    Raises:
        FitError: the covariance of the runs is not positive.
    """

    def __init__(
        self,
        runs: Runs,
        correlations: Sequence[Matrix],
        scales: Scales,
        prior: Scales,
        level: float | None = None,
    ) -> None:
        self.runs, self.scales, self._correlations, self._prior = runs, scales, correlations, prior
        full = runs.rung == 0
        told = full if full.any() else np.ones(len(runs), dtype=bool)
        mean = float(np.average(runs.log_rate[told], weights=runs.count[told]))
        self._level = mean if level is None else level
        self._asked: dict[int, tuple[Codes, Matrix]] = {}
        self._covariance = RunCovariance(runs, Effects(scales, correlations))
        self._root = self._covariance.root(scales)
        self._weights = cho_solve((self._root, True), runs.log_rate - self._level)

    def fitted(self, steps: int = STEPS) -> "Process":
        """A process of the same runs with the scales that explain them best, searched from the present ones.

        Raises:
            FitError: no finite scales were found.
        """
        scales = ScaleSearch(self._covariance, self._level, self.scales, self._prior).best(steps)
        return Process(self.runs, self._correlations, scales, self._prior)

    def fantasise(self, codes: Codes, at_rung: LinearModel, rung: int) -> "Process":
        """The process after one more run of each configuration on a rung, if each comes out as expected.

        The variance given a run does not depend on its rate, so this is what will be known, without what it will be:
        nothing that is believed moves, it only becomes surer.

        Args:
            at_rung: HPL's model on the rung.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        runs, count = self.runs, len(codes)
        expected = self.expected(codes, at_rung, rung) - at_rung.mean + self._covariance.shift @ self._weights
        more = replace(
            runs,
            codes=np.concatenate([runs.codes, codes]),
            rung=np.append(runs.rung, np.full(count, rung)),
            log_rate=np.append(runs.log_rate, expected),
            slopes=np.concatenate([runs.slopes, at_rung.slopes]),
            session=np.append(runs.session, np.full(count, runs.present)),
            count=np.append(runs.count, np.ones(count)),
            scatter=np.append(runs.scatter, np.zeros(count)),
            unsure=np.append(runs.unsure, np.zeros(count)),
        )
        return Process(more, self._correlations, self.scales, self._prior, self._level)

    def knows(self, codes: Codes) -> NDArray[np.bool_]:
        """Whether the values of configurations had been met when this was made, shape (configurations,)."""
        return np.asarray((codes < [len(table) for table in self._correlations]).all(axis=1))

    def expected(self, codes: Codes, at_rung: LinearModel, rung: int) -> Vector:
        """Mean of the logarithm of a run's rate on a rung, at each of some configurations."""
        parts = [self._mean(self._towards(some, line, rung)[0], line) for some, line in _parts(codes, at_rung)]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def believed(self, codes: Codes, full: LinearModel) -> tuple[Vector, Vector]:
        """Mean and standard deviation of f, the logarithm of a full run's rate, at each of some configurations."""
        means, sds = [], []
        for some, line in _parts(codes, full):
            towards, prior = self._towards(some, line, 0)
            means.append(self._mean(towards, line))
            sds.append(np.sqrt(np.maximum(prior - _squares(self._solved(towards)), 1e-12)))
        return np.concatenate(means), np.concatenate(sds)

    def mean_shift_sd(
        self, ahead: Codes, full: LinearModel, codes: Codes, at_rung: LinearModel, rung: int, alike: Matrix
    ) -> Matrix:
        """How far f of some configurations moves with a run of others, for one standard deviation of its outcome.

        Args:
            ahead, full: the configurations that move, and HPL's model of full runs of them.
            codes, at_rung: those that are run, and HPL's model of that on the rung.
            alike: prior covariance of the effects of the former with those of the latter, shape (ahead, codes).

        Returns:
            Shape (ahead, codes).
        """
        part, prior = self._towards(codes, at_rung, rung)
        solved = self._solved(part + self._covariance.shift[:, None])
        seen = prior + self._covariance.shift[-1] - _squares(solved) + self.scales.noise[rung] ** 2
        among = LEVEL_SD**2 + full.slopes @ at_rung.slopes.T + alike
        among -= self._solved(self._towards(ahead, full, 0)[0]).T @ solved
        return np.asarray(among / np.sqrt(np.maximum(seen, 1e-18)))

    def left_out(self) -> tuple[Vector, Vector]:
        """How far each run is from what all others let expect of it, in the logarithm of the rate.

        Returns:
            Of each run the distance, negative for a slow one; and the standard deviation of what the others tell of its
            configuration.
        """
        inverse = np.diag(cho_solve((self._root, True), np.eye(len(self.runs))))
        own = 1 / inverse - self._covariance.noise(self.scales)
        return self._weights / inverse, np.sqrt(np.maximum(own, 1e-12))

    def draws(self, codes: Codes, full: LinearModel, count: int, chance: np.random.Generator) -> Matrix:
        """Joint draws of f at some configurations, shape (count, points)."""
        towards, _ = self._towards(codes, full, 0)
        solved = self._solved(towards)
        among = self.alike(codes, codes) + full.slopes @ full.slopes.T + LEVEL_SD**2
        root = cholesky_root(among - solved.T @ solved + 1e-8 * np.eye(len(codes)))
        normal = chance.standard_normal((count, len(codes)))
        return np.asarray(self._mean(towards, full) + normal @ root.T)

    def _mean(self, towards: Matrix, modelled: LinearModel) -> Vector:
        return np.asarray(self._level + modelled.mean + towards.T @ self._weights)

    def _solved(self, towards: Matrix) -> Matrix:
        return np.asarray(solve_triangular(self._root, towards, lower=True))

    def _towards(self, codes: Codes, at_rung: LinearModel, rung: int) -> tuple[Matrix, Vector]:
        """Prior covariance of each run with f_r at each configuration, shape (runs, points), and f_r's variance."""
        runs, scales = self.runs, self.scales
        here = (runs.rung == rung)[:, None]
        apart = 1 + (scales.apart[rung - 1] ** 2 if rung else 0.0)
        elsewhere = 1 + (elsewhere_variance(scales.apart[rung - 1]) if runs.elsewhere[rung] else 0.0)
        offset = OFFSET_SD**2 if rung else 0.0
        towards = LEVEL_SD**2 + self._among_runs(codes) * np.where(here, apart, 1.0) + np.where(here, offset, 0.0)
        towards += runs.slopes @ at_rung.slopes.T * np.where(here, elsewhere, 1.0)
        own = self._covariance.learnt.variance * apart + (at_rung.slopes**2).sum(axis=1) * elsewhere
        return towards, LEVEL_SD**2 + own + offset

    def alike(self, ones: Codes, others: Codes) -> Matrix:
        """Prior covariance of the effects between configurations, shape (ones, others)."""
        return self._covariance.learnt.covariance(ones, others)

    def _among_runs(self, codes: Codes) -> Matrix:
        """Prior covariance of effects between runs and configurations, cached: each rung asks with the same arrays."""
        if id(codes) not in self._asked:
            if len(self._asked) >= REMEMBERED:
                self._asked.pop(next(iter(self._asked)))
            self._asked[id(codes)] = (codes, self.alike(self.runs.codes, codes))
        return self._asked[id(codes)][1]


def _parts(codes: Codes, modelled: LinearModel) -> Iterator[tuple[Codes, LinearModel]]:
    """Configurations in parts, where they are too many to be in memory with all runs at a time."""
    if len(codes) <= AT_ONCE:
        yield codes, modelled
        return
    for first in range(0, len(codes), AT_ONCE):
        rows = range(first, min(first + AT_ONCE, len(codes)))
        yield codes[first : first + AT_ONCE], modelled.of(rows)


def _squares(matrix: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))


@dataclass(frozen=True)
class ScaleSearch:
    """A search from some scales for those that explain runs best.

    Attributes:
        level: of all runs where the data tell nothing.
    """

    covariance: RunCovariance
    level: float
    start: Scales
    prior: Scales

    def best(self, steps: int = STEPS) -> Scales:
        """The scales that explain the runs best, in at most so many steps.

        Raises:
            FitError: no finite scales were found.
        """
        from scipy.optimize import Bounds, minimize  # noqa: PLC0415 - a third of a second that few runs do not need

        elsewhere = self.covariance.runs.elsewhere[1:]
        centre, sd = self.prior.logs(), self.prior.prior_sd(elsewhere)
        lowest, highest = self.prior.bounds(elsewhere)
        start = np.clip(self.start.logs(), lowest, highest)
        found = minimize(  # type: ignore[call-overload]  # the stubs know no function with its gradient
            lambda logs: self._cost(logs, centre, sd),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(lowest, highest),
            options={"maxiter": steps},
        )
        if not np.isfinite(found.fun):
            raise FitError("no scales explain the runs")
        return self.start.of_logs(found.x)

    def _cost(self, logs: Vector, centre: Vector, sd: Vector) -> tuple[float, Vector]:
        """Negative log posterior of the scales, and its gradient."""
        scales, runs = self.start.of_logs(logs), self.covariance.runs
        effects, alone, weighted, squares, factor = self.covariance.effects(scales)
        try:
            root = cholesky_root(self.covariance.steady + effects + np.diag(self.covariance.noise(scales)))
        except FitError:
            return 1e12, np.zeros_like(logs)
        y = runs.log_rate - self.level
        weights = cho_solve((root, True), y)
        inverse = cho_solve((root, True), np.eye(len(runs)))
        slope = 0.5 * (inverse - np.outer(weights, weights))
        shared = slope * factor
        gradient = []
        by_weight = (shared * weighted).ravel()
        for amplitude, alike in zip(scales.amplitude, self.covariance.between, strict=True):
            one, others = float(shared.ravel() @ alike.ravel()), float(by_weight @ alike.ravel())
            squared = float(np.einsum("ij,ij,ij", shared, alike, alike))
            gradient.append(amplitude * (2 * amplitude * one + scales.pair * (others - amplitude * squared)))
        gradient.append(float(np.sum(shared * 0.5 * scales.pair * (weighted**2 - squares))))
        gradient.append(float(np.sum(shared * 2 * scales.rest**2 * self.covariance.rest_between)))
        for number, apart in enumerate(scales.apart, start=1):
            both = np.ix_(runs.rung == number, runs.rung == number)
            told = apart**2 * float(np.sum((slope * alone)[both]))
            if runs.elsewhere[number]:
                told += elsewhere_variance(apart) * float(np.sum((slope * self.covariance.modelled)[both]))
            gradient.append(2 * told)
        within = 0.0
        for number, noise in enumerate(scales.noise):
            on = runs.rung == number
            variance, more = noise**2 + LEAST_NOISE, float((runs.count[on] - 1).sum())
            scatter = float(runs.scatter[on].sum()) / variance
            within += 0.5 * (more * math.log(variance) + scatter)
            of_means = float(np.sum((np.diag(slope) / runs.count)[on]))
            gradient.append((of_means + 0.5 * (more - scatter) / variance) * 2 * noise**2)
        away = (logs - centre) / sd
        cost = 0.5 * float(y @ weights) + float(np.log(np.diag(root)).sum()) + 0.5 * float(away @ away) + within
        return cost, np.array(gradient) + away / sd
