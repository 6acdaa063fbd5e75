"""The prior covariance of the logarithms of the rates of runs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from ..arrays import Codes, Matrix, Vector
from .effects import Effects, sums
from .scales import Scales

LEVEL_SD = 3.0
"""Of the overall level, which the first run tells."""
OFFSET_SD = 1.0
"""Of a rung's steady distance from full runs, beside what the model says of it."""
SESSION_SD = 0.05
"""Of a whole session: a cluster moved by 11 % between two campaigns (Dahu)."""
ELSEWHERE_SD = 1.0
"""Of a quantity of another machine, or of a model of this one, against this machine's, in its prior's."""
LEAST_NOISE = 1e-10
"""Variance of a run of a simulator, which repeats exactly: a covariance has to be positive."""


class FitError(Exception):
    """The runs cannot be described: a covariance that is not positive, or a figure that is not finite."""


@dataclass(frozen=True)
class Runs:
    """What was measured, one row for all repeats of a run in one session.

    Attributes:
        codes: value numbers, shape (runs, axes).
        rung: 0 for a full run, further numbers for cheaper ones, shape (runs,).
        log_rate: natural logarithm of the rate, the mean of all repeats, less the mean of HPL's model, shape (runs,).
        slopes: of HPL's model in what is unknown of the machine, shape (runs, quantities).
        session: which sitting a run belongs to, shape (runs,); `present` the newest run's.
        count: repeats, shape (runs,); `scatter` the sum of the squares of their distances from their mean.
        elsewhere: of each rung whether its runs are of another machine, or of a model, shape (rungs,).
    """

    codes: Codes
    rung: Codes
    log_rate: Vector
    slopes: Matrix
    session: Codes
    present: int
    count: Vector
    scatter: Vector
    elsewhere: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.log_rate)


@dataclass(frozen=True)
class RunCovariance:
    """The prior covariance of runs, in parts that depend on the sizes of effects and parts that do not.

    Attributes:
        learnt: the effects; their sizes say how alike two runs are in what no pair of axes explains.
    """

    runs: Runs
    learnt: Effects

    @cached_property
    def between(self) -> list[Matrix]:
        """Of each axis the correlation of the values of each two runs."""
        columns = self.runs.codes.T
        return [table[np.ix_(column, column)] for table, column in zip(self.learnt.correlations, columns, strict=True)]

    @cached_property
    def rest_between(self) -> Matrix:
        """The correlation of each two runs in what no pair of axes explains."""
        return self.learnt.together(self.runs.codes, self.runs.codes)

    @cached_property
    def sessions(self) -> int:
        """How many sessions the runs are from."""
        return len(np.unique(self.runs.session))

    @cached_property
    def shift(self) -> Vector:
        """Prior covariance of the present session's shift with that of each run, shape (runs,); 0 in the only one."""
        session = self.runs.session
        return SESSION_SD**2 * (session == self.runs.present) if self.sessions > 1 else np.zeros(len(session))

    @cached_property
    def steady(self) -> Matrix:
        """The part of the covariance that no scale changes."""
        runs = self.runs
        same_rung = (runs.rung[:, None] == runs.rung[None, :]) & (runs.rung > 0)[:, None]
        same_session = runs.session[:, None] == runs.session[None, :]
        elsewhere = same_rung & runs.elsewhere[runs.rung]
        return np.asarray(
            LEVEL_SD**2
            + runs.slopes @ runs.slopes.T * (1 + ELSEWHERE_SD**2 * elsewhere)
            + OFFSET_SD**2 * same_rung
            + (SESSION_SD**2 * same_session if self.sessions > 1 else 0.0)
        )

    def noise(self, scales: Scales) -> Vector:
        """Variance of the mean of the repeats of each run."""
        return np.asarray((scales.noise[self.runs.rung] ** 2 + LEAST_NOISE) / self.runs.count)

    def effects(self, scales: Scales) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
        """Covariance of effects over all rungs; and the parts its gradient needs: one rung's, both sums, the factor."""
        size = (len(self.runs), len(self.runs))
        additive, weighted, squares = sums(scales, self.between, size)
        alone = additive + scales.rest**2 * self.rest_between
        factor = np.ones(size)
        for number, apart in enumerate(scales.apart, start=1):
            on = self.runs.rung == number
            factor[np.ix_(on, on)] += apart**2
        return alone * factor, alone, weighted, squares, factor

    def root(self, scales: Scales) -> Matrix:
        """Lower Cholesky root of the covariance.

        Raises:
            FitError: it is not positive.
        """
        return cholesky_root(self.steady + self.effects(scales)[0] + np.diag(self.noise(scales)))


def cholesky_root(covariance: Matrix) -> Matrix:
    """The lower Cholesky root of a matrix.

    Raises:
        FitError: the matrix is not positive or not finite.
    """
    try:
        return np.asarray(cholesky(covariance, lower=True))
    except (LinAlgError, ValueError) as error:
        raise FitError(str(error)) from error
