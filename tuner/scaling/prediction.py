"""Predicts HPL on twice the nodes: HPL's model of its own time, with the figures of this machine fitted to the runs.

What the model misses at the largest number of nodes, it is expected to miss at twice that number too.

The model is that of `engines/perf/hpl_time.py`. Before a run each figure of the machine is what it usually is, give or
take a usual factor; the runs move those figures that they can tell. What they cannot tell, such as a network that no
run used, stays uncertain and makes the interval of the prediction wide.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from hpl.params import Scalar

from ..engines.arrays import Vector
from ..engines.perf.hpl_time import Shapes, shape_row
from ..engines.perf.linear_model import straightened
from ..engines.perf.machine_figures import Prior, prior
from ..engines.perf.probes import Probes

MISFIT = 0.03
"""By how much the model is off at a number of nodes, as a standard deviation of the logarithm: assumed."""
STEPS = 20
"""Steps in which the figures of the machine are fitted."""
LONGEST_STEP = 1.0
"""Of a step, in standard deviations of each figure: beyond it the straight line leads astray."""
Z95 = 1.96
"""Standard deviations on each side of a normal distribution that hold 95 %."""


@dataclass(frozen=True)
class ExpectedRate:
    """The rate that is expected of a configuration.

    Attributes:
        interval_gflops: holds the rate with a probability of 95 %.
    """

    gflops: float
    interval_gflops: tuple[float, float]


@dataclass(frozen=True)
class MeasuredPoint:
    """A configuration that ran.

    Attributes:
        params: complete.
        count: nodes, or ranks on one machine.
        gflops: of each run.
    """

    params: Mapping[str, Scalar]
    count: int
    gflops: Sequence[float]


@dataclass(frozen=True)
class FittedMachine:
    """A machine whose figures are fitted to runs.

    Attributes:
        moved: how far each figure is from what it usually is, in standard deviations.
        covariance: of `moved`.
        one_machine: counts are ranks of one machine, not nodes.
    """

    dgemm_gflops: Mapping[str, Mapping[str, float]]
    one_machine: bool
    prior: Prior
    moved: Vector
    covariance: Vector

    def expected(
        self, params: Mapping[str, Scalar], count: int, like: MeasuredPoint, misfit: float = MISFIT
    ) -> ExpectedRate:
        """Predict the rate of a configuration on so many nodes.

        Args:
            like: the largest run of that kind, whose distance from the model counts here too.
            misfit: standard deviation of what the model misses, in the logarithm.
        """
        off = fmean(map(math.log, like.gflops)) - self._log(like.params, like.count)[0]
        log, variance = self._log(params, count)
        margin = Z95 * math.sqrt(variance + misfit**2)
        return ExpectedRate(math.exp(log + off), (math.exp(log + off - margin), math.exp(log + off + margin)))

    def _log(self, params: Mapping[str, Scalar], count: int) -> tuple[float, float]:
        """Logarithm of the rate by the model, and its variance."""
        shapes = _shapes([(params, count)], self.dgemm_gflops, one_machine=self.one_machine)
        line = straightened(shapes, self.prior, self.moved, 1.0, 1.0)
        variance = float(line.slopes[0] @ self.covariance @ line.slopes[0])
        return float(line.mean[0] + line.slopes[0] @ self.moved), variance


def fit_machine(
    points: Sequence[MeasuredPoint],
    dgemm_gflops: Mapping[str, Mapping[str, float]],
    noise: float,
    *,
    one_machine: bool,
) -> FittedMachine:
    """Fit the figures of a machine to the mean rates of configurations: the most probable ones, by Gauss and Newton.

    Args:
        points: at least one.
        dgemm_gflops: of one core, by BLAS and kernel.
        noise: standard deviation of the logarithm of a run's rate.
    """
    shapes = _shapes([(point.params, point.count) for point in points], dgemm_gflops, one_machine=one_machine)
    logs = np.array([fmean(map(math.log, point.gflops)) for point in points])
    weights = np.array([1 / (MISFIT**2 + noise**2 / len(point.gflops)) for point in points])
    usual = prior(Probes(dgemm_gflops))
    moved = np.zeros_like(usual.usual)
    for _ in range(STEPS):
        line = straightened(shapes, usual, moved, 1.0, 1.0)
        precision = line.slopes.T @ (weights[:, None] * line.slopes) + np.eye(len(moved))
        best = np.linalg.solve(precision, line.slopes.T @ (weights * (logs - line.mean)))
        moved = moved + np.clip(best - moved, -LONGEST_STEP, LONGEST_STEP)
    return FittedMachine(
        dgemm_gflops, one_machine, usual, moved, np.asarray(np.linalg.inv(precision), dtype=np.float64)
    )


def _shapes(
    wanted: Sequence[tuple[Mapping[str, Scalar], int]],
    dgemm_gflops: Mapping[str, Mapping[str, float]],
    *,
    one_machine: bool,
) -> Shapes:
    return Shapes(
        np.array(
            [shape_row(params, Probes(dgemm_gflops, nodes=1 if one_machine else count)) for params, count in wanted]
        )
    )
