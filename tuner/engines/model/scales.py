"""The sizes of effects, before and after anything was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Vector

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

    def prior_sd(self) -> Vector:
        """How far each logarithm may move."""
        return np.asarray(np.hstack([np.full(size, PRIOR_SD[name]) for name, size in self.sizes.items()]))
