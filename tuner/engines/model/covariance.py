"""The covariance of runs: how large effects are before and after measurements, and how alike two runs will be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from ..points import Codes, Matrix, Vector

USUAL_EFFECT = {
    "blas": 0.3, "kernel": 0.3, "layout": 0.1, "NB": 0.08, "grid": 0.08, "N": 0.08, "memory_fraction": 0.08,
    "BCAST": 0.03, "DEPTH": 0.03, "SWAP": 0.02, "binding": 0.03,
}  # fmt: skip
"""Standard deviation of an effect in the logarithm of the rate, from published HPL data (Dahu, sbcc, EPYC)."""
OTHER_EFFECT = 0.01
PAIR = 0.4
REST = 0.02
APART = 0.6
"""Effects that a cheaper rung has of its own, beside those of HPL's model, against those it shares with full runs."""
APART_ELSEWHERE = 2.0
"""The same of a model, or of another machine, size or time. With 0.3 a search that was told the rates of small runs
ended on the recorded pi5 5 % below the best; from 1 on it needs less than an untold one, from 2 nothing changes."""
NOISE = 0.01
PRIOR_SD = {"amplitude": 1.0, "pair": 1.2, "rest": 1.2, "apart": 0.7, "noise": 1.5}
"""How far, as a factor e^sd, the data may move each scale."""
APART_ELSEWHERE_SD = 1.5
"""The same of `apart` of a model or another machine. It only grows from its prior: before there are full runs, nothing
else keeps a wrong teacher from being believed. A large one tells nothing any more."""
WIDEST = 4.0
"""Scales stay within so many standard deviations of their priors."""


@dataclass(frozen=True)
class Scales:
    """Sizes of the effects, all above zero.

    Attributes:
        amplitude: of each axis, in the logarithm of the rate.
        pair: variance of an interaction against the product of the amplitudes of its axes.
        rest: standard deviation of what no pair explains.
        apart: of each cheaper rung, the size of effects that full runs do not share against those they share.
        noise: of each rung, full runs first, the standard deviation of a repeated run.
    """

    amplitude: Vector
    pair: float
    rest: float
    apart: Vector
    noise: Vector

    @classmethod
    def prior(cls, names: Sequence[str], elsewhere: Sequence[bool]) -> "Scales":
        """The scales that published data suggest.

        Args:
            names: the axes.
            elsewhere: of each kind of runs but full ones, whether they are of a model or another machine.
        """
        amplitude = np.array([USUAL_EFFECT.get(name, OTHER_EFFECT) for name in names])
        apart = np.where(np.array(elsewhere, dtype=bool), APART_ELSEWHERE, APART)
        return cls(amplitude, PAIR, REST, apart, np.full(len(apart) + 1, NOISE))

    def with_full_noise(self, least: float) -> "Scales":
        """These scales where a repeated full run differs by at least so much."""
        noise = self.noise.copy()
        noise[0] = max(noise[0], least)
        return replace(self, noise=noise)

    @property
    def sizes(self) -> dict[str, int]:
        """How many there are of each kind."""
        return {
            "amplitude": len(self.amplitude), "pair": 1, "rest": 1, "apart": len(self.apart), "noise": len(self.noise)
        }  # fmt: skip

    def logs(self) -> Vector:
        """All scales as one vector of logarithms."""
        return np.asarray(np.log(np.concatenate([self.amplitude, [self.pair, self.rest], self.apart, self.noise])))

    def of_logs(self, logs: Vector) -> "Scales":
        """Scales of this shape from such a vector."""
        amplitude, pair, rest, apart, noise = np.split(np.exp(logs), np.cumsum(list(self.sizes.values()))[:-1])
        return Scales(amplitude, float(pair[0]), float(rest[0]), apart, noise)

    def prior_sd(self, elsewhere: NDArray[np.bool_]) -> Vector:
        """How far each logarithm may move.

        Args:
            elsewhere: of each kind of runs but full ones, whether they are of a model or another machine.
        """
        sds = {name: np.full(size, PRIOR_SD[name]) for name, size in self.sizes.items()}
        sds["apart"][elsewhere] = APART_ELSEWHERE_SD
        return np.asarray(np.hstack(list(sds.values())))

    def bounds(self, elsewhere: NDArray[np.bool_]) -> tuple[Vector, Vector]:
        """The least and the most that each logarithm may be where these scales are the prior.

        Args:
            elsewhere: as in `prior_sd`.
        """
        centre, reach = self.logs(), WIDEST * self.prior_sd(elsewhere)
        lowest, aparts = centre - reach, np.log(self.apart)
        first = len(self.amplitude) + 2
        lowest[first : first + len(aparts)][elsewhere] = aparts[elsewhere]
        return lowest, centre + reach


HALF_RELEVANT = 0.02
"""Amplitude at which an axis counts half in what no pair explains."""


@dataclass(frozen=True)
class Effects:
    """Effects whose sizes are known.

    Attributes:
        correlations: of each axis between its values, shape (values, values).
    """

    scales: Scales
    correlations: Sequence[Matrix]

    @property
    def variance(self) -> float:
        """The variance of the effects at one configuration: all correlations are 1 there."""
        amplitude = self.scales.amplitude
        pairs = 0.5 * (amplitude.sum() ** 2 - (amplitude**2).sum())
        return float((amplitude**2).sum() + self.scales.pair * pairs + self.scales.rest**2)

    def covariance(self, ones: Codes, others: Codes) -> Matrix:
        """The covariance of the effects between configurations, shape (ones, others).

        `sums` over the axes, taken as products of two matrices: what the tables say of the values of the ones, and
        which values the others have.
        """
        amplitude, pair = self.scales.amplitude, self.scales.pair
        tables = [size * table for size, table in zip(amplitude, self.correlations, strict=True)]
        single = [table * (size - 0.5 * pair * table) for size, table in zip(amplitude, tables, strict=True)]
        total, weighted = np.zeros((2, len(ones), len(others)))
        if tables:
            have = np.vstack([np.eye(len(table))[:, values] for table, values in zip(tables, others.T, strict=True)])
            total, weighted = (
                np.hstack([table[values] for table, values in zip(kind, ones.T, strict=True)]) @ have
                for kind in (single, tables)
            )
        return np.asarray(total + 0.5 * pair * weighted**2 + self.scales.rest**2 * self.together(ones, others))

    def together(self, ones: Codes, others: Codes) -> Matrix:
        """The correlation of what no pair explains: high only where all axes that matter are alike."""
        relevance = self.scales.amplitude / (self.scales.amplitude + HALF_RELEVANT)
        tables = (1 - part * (1 - table) for part, table in zip(relevance, self.correlations, strict=True))
        product = np.ones((len(ones), len(others)))
        for table, mine, theirs in zip(tables, ones.T, others.T, strict=True):
            product *= table.take(theirs, axis=1).take(mine, axis=0)
        return product


def sums(scales: Scales, alike: Sequence[Matrix], shape: tuple[int, int]) -> tuple[Matrix, Matrix, Matrix]:
    """Covariance of the effects of single axes and of pairs; the sum of a_d k_d, and that of its squares.

    Args:
        alike: correlations k_d of each axis, of this shape.
    """
    main, weighted, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for amplitude, one in zip(scales.amplitude, alike, strict=True):
        main += amplitude**2 * one
        weighted += amplitude * one
        squares += (amplitude * one) ** 2
    return main + 0.5 * scales.pair * (weighted**2 - squares), weighted, squares


LEVEL_SD = 3.0
"""Of the overall level, which the first run tells."""
OFFSET_SD = 1.0
"""Of a rung's steady distance from full runs, beside what the model says of it."""
SESSION_SD = 0.05
"""Of a whole session: a cluster moved by 11 % between two campaigns (Dahu)."""
ELSEWHERE_SD = 1.0
"""Of a quantity of another machine, or of a model of this one, against this machine's, in its prior's; it grows with
`apart`, so that a wrong teacher teaches nothing of the machine either."""
LEAST_NOISE = 1e-10
"""Variance of a run of a simulator, which repeats exactly: a covariance has to be positive."""


def elsewhere_variance(apart: float) -> float:
    """Variance of a quantity of another machine, or of a model, against this machine's, in its prior's."""
    return (ELSEWHERE_SD * apart / APART_ELSEWHERE) ** 2


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
        unsure: variance beside the noise, of what a disturbed run may have lost, shape (runs,); 0 of a quiet one.
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
    unsure: Vector
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
        return np.asarray(
            LEVEL_SD**2
            + self.modelled
            + OFFSET_SD**2 * same_rung
            + (SESSION_SD**2 * same_session if self.sessions > 1 else 0.0)
        )

    @cached_property
    def modelled(self) -> Matrix:
        """The covariance of runs by what is unknown of the machine."""
        return np.asarray(self.runs.slopes @ self.runs.slopes.T)

    def noise(self, scales: Scales) -> Vector:
        """Variance of the mean of the repeats of each run."""
        runs = self.runs
        return np.asarray((scales.noise[runs.rung] ** 2 + LEAST_NOISE) / runs.count + runs.unsure)

    def effects(self, scales: Scales) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
        """Covariance of effects over all rungs; and the parts its gradient needs: one rung's, both sums, the factor."""
        size = (len(self.runs), len(self.runs))
        additive, weighted, squares = sums(scales, self.between, size)
        alone = additive + scales.rest**2 * self.rest_between
        factor = np.ones(size)
        for number, apart in enumerate(scales.apart, start=1):
            on = self.runs.rung == number
            factor[np.ix_(on, on)] += apart**2
        covariance = alone * factor
        for number, apart in enumerate(scales.apart, start=1):
            if self.runs.elsewhere[number]:
                both = np.ix_(self.runs.rung == number, self.runs.rung == number)
                covariance[both] += elsewhere_variance(apart) * self.modelled[both]
        return covariance, alone, weighted, squares, factor

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
