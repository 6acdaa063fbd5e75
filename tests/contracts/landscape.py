"""An HPL that costs nothing: a rate for every point of a space, with effects of the size that measured data show."""

import math
import random
from collections.abc import Mapping

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

EFFECTS: Mapping[str, float] = {
    "blas": 0.10, "kernel": 0.08, "layout": 0.08, "grid": 0.04, "BCAST": 0.025, "DEPTH": 0.03, "SWAP": 0.01,
    "NBMIN": 0.008, "RFACT": 0.005, "PFACT": 0.005, "NDIV": 0.005,
}  # fmt: skip
"""Standard deviation of the logarithm of the rate from one value to the next."""
OTHER_EFFECT = 0.003
INTERACTIONS: Mapping[tuple[str, str], float] = {
    ("DEPTH", "SWAP"): 0.03,
    ("NB", "grid"): 0.01,
    ("layout", "BCAST"): 0.01,
}
NOISE = 0.004
"""Relative standard deviation of a repeated run: 0.3 to 0.4 % on undisturbed machines."""
NB_WIDTH = 1.6
"""Log2 distance from the best NB at which a third of the rate is lost."""


class Landscape:
    """The rates of one machine; another seed is another machine."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._noise = random.Random(f"noise {seed}")  # noqa: S311 - not for secrets
        self._drawn: dict[tuple[object, ...], float] = {}

    def measure(self, point: Point) -> float:
        """GFLOPS of one run."""
        return self.rate(point) * math.exp(self._noise.gauss(0.0, NOISE))

    def rate(self, point: Point) -> float:
        """GFLOPS without noise."""
        log = sum(self._draw(size, name, point.get(name)) for name, size in self._sizes().items())
        log += sum(
            self._draw(size, one, point.get(one), other, point.get(other))
            for (one, other), size in INTERACTIONS.items()
        )
        best_nb = 224 * 2 ** self._draw(0.5, "best NB", point.get("blas"), point.get("kernel"))
        distance = math.log2(float(point.get("NB", best_nb)) / best_nb)
        return 100.0 * math.exp(log - 0.33 * (distance / NB_WIDTH) ** 2)

    def _sizes(self) -> Mapping[str, float]:
        return {name: EFFECTS.get(name, OTHER_EFFECT) for name in self._space.varying if name != "NB"}

    def _draw(self, size: float, *what: Scalar | None) -> float:
        """The effect of some values: always the same one."""
        if what not in self._drawn:
            chance = random.Random(f"{self._seed} {what}")  # noqa: S311 - not for secrets
            self._drawn[what] = chance.gauss(0.0, size)
        return self._drawn[what]
