"""How much the runs of one node differ in a benchmark: the noise of a check, as its repeats tell it."""

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from .check import NodeCheck

NORMAL_MEDIAN = 0.9539
"""Median of the distance of two normal values, in their standard deviation."""
BEST_OF = (1.0, 0.826, 0.748, 0.701, 0.669)
"""How much the best of 1, 2, … normal values scatters, in their standard deviation; more make little difference."""
REPEATS_TELL = 0.4
"""Independent values that a pair of repeats is worth, when the median of their distances is taken."""


@dataclass(frozen=True)
class RunNoise:
    """The noise of a run.

    Attributes:
        distances: of the logarithms of each two runs of a node.
        runs: the usual number of runs of a node.
    """

    distances: tuple[float, ...]
    runs: int

    @classmethod
    def of(cls, name: str, check: NodeCheck) -> "RunNoise":
        """Look at all repeats of a benchmark."""
        runs: dict[str, list[float]] = defaultdict(list)
        for run in check.runs:
            if run.benchmark == name and run.counts and run.value is not None and run.value > 0.0:
                runs[run.node].append(math.log(run.value))
        distances = (abs(one - other) for own in runs.values() for one, other in combinations(own, 2))
        return cls(tuple(distances), int(median(map(len, runs.values()))) if runs else 1)

    @property
    def sd(self) -> float | None:
        """Return the standard deviation of the logarithm of a run; None where no node ran twice."""
        return median(self.distances) / NORMAL_MEDIAN if self.distances else None

    @property
    def of_best(self) -> float:
        """Return the scatter of the best run of a node, as a part of that of a run."""
        return BEST_OF[min(self.runs, len(BEST_OF)) - 1]

    @property
    def freedom(self) -> float:
        """Return the degrees of freedom behind the standard deviation."""
        return max(2.0, REPEATS_TELL * len(self.distances))
