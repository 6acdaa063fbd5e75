"""The sizes of effects that explain runs best, found by maximum a posteriori."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from ..arrays import Vector
from .run_covariance import LEAST_NOISE, FitError, RunCovariance, cholesky_root
from .scales import Scales

STEPS = 25
WIDEST = 4.0
"""Scales stay within so many standard deviations of their priors."""


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

        centre, sd = self.prior.logs(), self.prior.prior_sd()
        lowest, highest = centre - WIDEST * sd, centre + WIDEST * sd
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
            on = runs.rung == number
            gradient.append(float(np.sum((slope * alone)[np.ix_(on, on)]) * 2 * apart**2))
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
