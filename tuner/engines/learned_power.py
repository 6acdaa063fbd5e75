"""What the measured power of runs tells of that of others: it guides a search, and is never shown or compared."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar
from search_spaces.parameters.dimension import ranks_and_threads

IDLE = 0.4
"""Of a machine under load, the part of its power that it draws while it idles, until runs tell more."""
EFFECT, SPREAD = 0.15, 0.02
"""Standard deviations of the logarithm of the power: between two values of a parameter, and between equal runs."""
LEVEL = 0.1
"""Difference of that logarithm up to which two configurations are taken to draw the same.

Within a level the faster of two is also the more efficient one, as a rule; the engine looks for the best of each.
"""


@dataclass
class LearnedPower:
    """A ridge regression of the logarithm of the power on the values of a configuration, around what cores explain.

    Attributes:
        cores: of the machine; 0 where that is not known.
        reference_w: the first power that was told; 0 before.
    """

    cores: int = 0
    reference_w: float = 0.0
    _columns: dict[tuple[str, Scalar], int] = field(default_factory=dict, init=False)
    _runs: list[tuple[list[int], float]] = field(default_factory=list, init=False)
    _effects: NDArray[np.float64] | None = field(default=None, init=False)

    def learn(self, params: Mapping[str, Scalar], power_w: float) -> None:
        """Take in the power of a run, in watts above 0."""
        self.reference_w = self.reference_w or power_w
        row = [self._columns.setdefault(item, len(self._columns)) for item in params.items()]
        self._runs.append((row, math.log(power_w / self.reference_w) - self._by_cores(params)))
        self._effects = None

    def relative(self, params: Mapping[str, Scalar]) -> float:
        """The power that is expected of a configuration, as a part of the reference; 1 while nothing is known."""
        if not self._runs:
            return 1.0
        effects = self._fitted()
        mean, known = effects[-1], (self._columns.get(item) for item in params.items())
        return math.exp(self._by_cores(params) + mean + sum(effects[column] for column in known if column is not None))

    def worth(self, params: Mapping[str, Scalar]) -> float:
        """What a GFLOPS of a configuration is worth in MFLOPS/W, in any unit and in steps of LEVEL."""
        return math.exp(-LEVEL * round(math.log(self.relative(params)) / LEVEL))

    def _by_cores(self, params: Mapping[str, Scalar]) -> float:
        """What the cores in use let expect of the logarithm of the power."""
        if not self.cores or "layout" not in params:
            return 0.0
        ranks, threads = ranks_and_threads(params["layout"])
        return math.log(IDLE + (1 - IDLE) * min(1.0, ranks * threads / self.cores))

    def _fitted(self) -> NDArray[np.float64]:
        """The effect of each value, and the mean as the last."""
        if self._effects is None:
            size = len(self._columns) + 1
            table, told = np.zeros((len(self._runs), size)), np.array([log for _, log in self._runs])
            for number, (row, _) in enumerate(self._runs):
                table[number, [*row, size - 1]] = 1.0
            penalty = np.full(size, (SPREAD / EFFECT) ** 2)
            penalty[-1] = 1e-9  # the mean is free
            self._effects = np.linalg.solve(table.T @ table + np.diag(penalty), table.T @ told)
        return self._effects
