"""Whether nodes that are slow in one benchmark are slow in another: does memory explain HPL?"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

SIGNIFICANT = 0.01
"""Probability, corrected for all pairs, below which a correlation counts."""
FEWEST = 6
"""Nodes that both benchmarks need."""


@dataclass(frozen=True)
class Correlation:
    """How two benchmarks go together.

    Attributes:
        coefficient: Spearman's, -1 to 1; it is of ranks, so that one odd node does not make it.
        linear: Pearson's, -1 to 1, as STAB's cplot has it.
        p: of the ranks, corrected for all pairs that were looked at (Holm 1979).
        explains: part of the variance of one that a line in the other explains, 0 to 1.
    """

    one: str
    other: str
    nodes: int
    coefficient: float
    linear: float
    p: float

    @property
    def significant(self) -> bool:
        """Return whether chance does not give it."""
        return self.p < SIGNIFICANT

    @property
    def explains(self) -> float:
        """Return the part of the variance of one that a line in the other explains, 0 to 1."""
        return self.linear**2


def correlations(results: Mapping[str, Mapping[str, float]]) -> list[Correlation]:
    """Correlate all pairs of benchmarks, clearest first.

    Args:
        results: of each benchmark by node.
    """
    found = []
    for one, other in combinations(sorted(results), 2):
        nodes = sorted(results[one].keys() & results[other].keys())
        x, y = (np.asarray([results[name][node] for node in nodes]) for name in (one, other))
        if len(nodes) < FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
            continue
        ranks = stats.spearmanr(x, y)
        linear = float(np.corrcoef(x, y)[0, 1])
        found.append(Correlation(one, other, len(nodes), float(ranks.statistic), linear, float(ranks.pvalue)))
    return _corrected(sorted(found, key=lambda pair: pair.p))


def _corrected(found: list[Correlation]) -> list[Correlation]:
    """Correct probabilities, lowest first, for the number of pairs."""
    corrected, highest = [], 0.0
    for place, pair in enumerate(found):
        highest = max(highest, min(1.0, pair.p * (len(found) - place)))
        corrected.append(Correlation(pair.one, pair.other, pair.nodes, pair.coefficient, pair.linear, highest))
    return corrected
