"""What is believed of the configurations of a pool: what a run would tell, and how long it would take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hpl.flops import flop_count

from ..fidelity import Rung
from .information import gain
from .pool import Pool
from .process import Process
from .scales import Vector

LARGEST_LOG = 100.0
"""Rates beyond e^100 GFLOPS are nobody's, but no reason to divide by zero."""


@dataclass(frozen=True)
class Belief:
    """A process over a pool, asked by the numbers of configurations.

    Attributes:
        kinds: the rungs by their numbers in the process.
    """

    process: Process
    pool: Pool
    kinds: Sequence[Rung]

    def supposing(self, places: Sequence[int], rung: Rung) -> "Belief":
        """What will be believed after one more run of each of these, as far as that can be known before.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        codes, at_rung = self.pool.codes[places], self.pool.centred(rung.size)[places]
        return replace(self, process=self.process.supposing(codes, at_rung, self.kinds.index(rung)))

    def gain(self, places: Sequence[int], rung: Rung, best: Vector) -> Vector:
        """Information, in nats, that one more run of each would give about the best rate, shape (places,).

        Args:
            best: draws of the best, shape (draws,).
        """
        codes, whole = self.pool.codes[places], self.pool.centred(1.0)[places]
        mean, sd = self.process.believed(codes, whole)
        shared = self.process.shared(codes, whole, self.pool.centred(rung.size)[places], self.kinds.index(rung))
        return gain(mean, sd, shared, best)

    def time_s(self, places: Sequence[int], rung: Rung) -> Vector:
        """Seconds HPL is expected to take for a run of each, shape (places,)."""
        codes, at_rung = self.pool.codes[places], self.pool.centred(rung.size)[places]
        logs = self.process.expected(codes, at_rung, self.kinds.index(rung)) + self.pool.level
        flops = np.array([flop_count(int(N * rung.size)) for N in self.pool.sizes[places]])
        return np.asarray(flops / np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)) / 1e9)
