"""Says of each configuration of a pool what a run would be worth, and how long it would take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpl.flops import flop_count

from ..arrays import Codes, Matrix, Vector
from ..fidelity import FULL, Rung
from ..perf.hpl_time import Shapes
from ..perf.linear_model import LinearModel
from .acquisition import knowledge_gradient
from .front import best_of_each
from .pool import PointRows, Pool
from .process import Process

AHEAD = 200
"""Configurations that are reckoned to be the best after a run, or on the front: the highest by mean + 2 sd."""
LIKELY = 3_000
"""Configurations of which it is worked out what a run is worth: those with the highest mean + 2 sd."""
LARGEST_LOG = 100.0
"""Rates beyond e^100 GFLOPS are nobody's, but no reason to divide by zero."""


@dataclass(frozen=True)
class Belief:
    """The posterior of a process over a pool, or over some configurations.

    Attributes:
        kinds: the rungs by their numbers in the process.
        codes: of the whole pool.
        mean, sd: of the logarithm of a full run's rate in GFLOPS, shape (configurations,).
        likely: the configurations whose runs are weighed, and `likely_codes` theirs.
        ahead: the configurations that may be best, and `ahead_codes` theirs.
        alike: prior covariance of the effects of these with those of the likely, shape (ahead, likely).
    """

    process: Process
    pool: Pool
    kinds: Sequence[Rung]
    codes: Codes
    mean: Vector
    sd: Vector
    likely: NDArray[np.intp]
    likely_codes: Codes
    ahead: NDArray[np.intp]
    ahead_codes: Codes
    alike: Matrix

    @classmethod
    def over(cls, process: Process, pool: Pool, kinds: Sequence[Rung], beaten: Sequence[int] = ()) -> "Belief":
        """The belief of a process about a whole pool.

        Args:
            beaten: places that were measured and found slower than others, though the process need not know it.
        """
        codes = pool.codes
        mean, sd = process.believed(codes, pool.modelled(FULL))
        highest = mean + 2 * sd
        highest[list(beaten)] = -np.inf
        likely, ahead = (best_of_each(highest, pool.against, count) for count in (LIKELY, AHEAD))
        likely.sort()
        likely_codes, ahead_codes = codes[likely], codes[ahead]
        alike = process.alike(ahead_codes, likely_codes)
        return cls(process, pool, kinds, codes, mean, sd, likely, likely_codes, ahead, ahead_codes, alike)

    def fantasise(self, rows: PointRows, rung: Rung) -> "Belief":
        """The belief after one more run of each of these, as far as it is known before the runs.

        The means stay; `sd` and `ahead` are left as they were.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        at_rung = self.pool.modelled_of(rows, rung)
        return replace(self, process=self.process.fantasise(rows.codes, at_rung, self.kinds.index(rung)))

    def worth(self, rung: Rung) -> Vector:
        """The worth of one more run of each configuration of the pool; 0 where it is not likely enough to be best.

        Returns:
            As `worth_of`, shape (configurations,).
        """
        worth = np.zeros(len(self.mean))
        worth[self.likely] = self._worth(self.likely_codes, self.pool.modelled(rung).of(self.likely), rung, self.alike)
        return worth

    def worth_of(self, rows: PointRows, rung: Rung) -> Vector:
        """The expected gain in the logarithm of the best rate, or of one on the front, by one more run of each.

        Returns:
            Shape (rows,).
        """
        alike = self.process.alike(self.ahead_codes, rows.codes)
        return self._worth(rows.codes, self.pool.modelled_of(rows, rung), rung, alike)

    @property
    def full_s(self) -> Vector:
        """Seconds HPL is expected to take for a full run of each configuration of the pool, shape (configurations,)."""
        return _time_s(self.mean, self.pool.shapes, FULL)

    def time_s_of(self, rows: PointRows, rung: Rung) -> Vector:
        """Seconds HPL is expected to take for runs of other configurations on a rung, shape (rows,)."""
        logs = self.process.expected(rows.codes, self.pool.modelled_of(rows, rung), self.kinds.index(rung))
        return _time_s(logs, rows.shapes, rung)

    def _worth(self, codes: Codes, at_rung: LinearModel, rung: Rung, alike: Matrix) -> Vector:
        full = self.pool.modelled(FULL).of(self.ahead)
        kind = self.kinds.index(rung)
        swayed = self.process.mean_shift_sd(self.ahead_codes, full, codes, at_rung, kind, alike)
        return knowledge_gradient(self.mean[self.ahead], swayed, self.pool.against[self.ahead])


def _time_s(logs: Vector, shapes: Shapes, rung: Rung) -> Vector:
    """Seconds of runs on a rung, by the logarithms of their rates."""
    flops = np.array([flop_count(int(N * rung.size)) for N in shapes.N[:, 0]])
    gflops = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)) / shapes.worth[:, 0]
    return np.asarray(flops / gflops / 1e9)
