"""What is believed of the configurations of a pool: what a run would be worth, and how long it would take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpl.flops import flop_count

from ..fidelity import FULL, Rung
from .axes import Codes, Matrix
from .front import best_of_each
from .pool import Pool, Rows
from .process import Process
from .scales import Vector
from .straight import Straight
from .worth import worth_of_runs

AHEAD = 200
"""Configurations that are reckoned to be the best after a run, or on the front: the highest by mean + 2 sd."""
LARGEST_LOG = 100.0
"""Rates beyond e^100 GFLOPS are nobody's, but no reason to divide by zero."""


@dataclass(frozen=True)
class Belief:
    """A process over a pool, asked of all of it, or of some configurations.

    Attributes:
        kinds: the rungs by their numbers in the process.
        codes: of the whole pool.
        mean, sd: of the logarithm of a full run's rate in GFLOPS, shape (configurations,).
        ahead: the configurations that may be best, and `ahead_codes` theirs.
        alike: prior covariance of the effects of these with those of all, shape (ahead, configurations).
    """

    process: Process
    pool: Pool
    kinds: Sequence[Rung]
    codes: Codes
    mean: Vector
    sd: Vector
    ahead: NDArray[np.intp]
    ahead_codes: Codes
    alike: Matrix

    @classmethod
    def over(cls, process: Process, pool: Pool, kinds: Sequence[Rung]) -> "Belief":
        """What a process says of a whole pool."""
        codes = pool.codes
        mean, sd = process.believed(codes, pool.modelled(FULL))
        ahead = best_of_each(mean + 2 * sd, pool.against, AHEAD)
        ahead_codes = codes[ahead]
        return cls(process, pool, kinds, codes, mean, sd, ahead, ahead_codes, process.alike(ahead_codes, codes))

    def supposing(self, rows: Rows, rung: Rung) -> "Belief":
        """What will be believed after one more run of each of these, as far as that can be known before.

        The means stay; `sd` and `ahead` are left as they were.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        at_rung = self.pool.modelled_of(rows, rung)
        return replace(self, process=self.process.supposing(rows.codes, at_rung, self.kinds.index(rung)))

    def worth(self, rung: Rung, rows: Rows | None = None) -> Vector:
        """By how much one more run is expected to raise the logarithm of the best rate, or of one on the front.

        Args:
            rows: the configurations that may be run, by default the whole pool.

        Returns:
            Shape (configurations,).
        """
        codes, at_rung = self._asked(rung, rows)
        alike = self.alike if rows is None else self.process.alike(self.ahead_codes, codes)
        full = self.pool.modelled(FULL).of(self.ahead)
        kind = self.kinds.index(rung)
        swayed = self.process.swayed(self.ahead_codes, full, codes, at_rung, kind, alike)
        return worth_of_runs(self.mean[self.ahead], swayed, self.pool.against[self.ahead])

    def time_s(self, rung: Rung, rows: Rows | None = None) -> Vector:
        """Seconds HPL is expected to take for a run of each, by default of all, shape (configurations,)."""
        codes, at_rung = self._asked(rung, rows)
        logs = self.process.expected(codes, at_rung, self.kinds.index(rung))
        shapes = self.pool.shapes if rows is None else rows.shapes
        flops = np.array([flop_count(int(N * rung.size)) for N in shapes.N[:, 0]])
        gflops = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)) / shapes.worth[:, 0]
        return np.asarray(flops / gflops / 1e9)

    def _asked(self, rung: Rung, rows: Rows | None) -> tuple[Codes, Straight]:
        """The configurations and HPL's model of them; those of the whole pool are the same arrays each time."""
        if rows is None:
            return self.codes, self.pool.modelled(rung)
        return rows.codes, self.pool.modelled_of(rows, rung)
