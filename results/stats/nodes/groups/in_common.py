"""Which nodes are common to failed or slow runs on groups of nodes, and whether chance would do that."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

SUSPECT = 0.01
"""Probability, corrected for all nodes, below which a node is suspected."""


@dataclass(frozen=True)
class InCommon:
    """A node in bad runs.

    Attributes:
        bad: bad runs that the node took part in.
        runs: all runs that it took part in.
        p: probability that a node which has nothing to do with them is in so many, times the number of nodes.
    """

    node: str
    bad: int
    runs: int
    p: float

    @property
    def suspect(self) -> bool:
        """Return whether chance does not explain it."""
        return self.p < SUSPECT


def in_common(groups: Sequence[Sequence[str]], bad: Sequence[bool]) -> list[InCommon]:
    """Count for each node in a bad run how many of its runs were bad, most suspect first.

    The bad runs are as if drawn from all runs without a look at their nodes; the probability to draw so many of a
    node's is hypergeometric. A node that shares its runs with a bad one is in bad runs, too: shuffled groups tell them
    apart, sorted ones do not.

    Args:
        groups: the nodes of each run.
        bad: whether each run failed, or was slow.
    """
    runs = Counter(node for group in groups for node in set(group))
    failed = Counter(node for group, one in zip(groups, bad, strict=True) if one for node in set(group))
    total, drawn = len(groups), sum(bad)

    def of(node: str, count: int) -> InCommon:
        by_chance = float(stats.hypergeom.sf(count - 1, total, runs[node], drawn))
        return InCommon(node, count, runs[node], min(1.0, len(runs) * by_chance))

    return sorted((of(*one) for one in failed.items()), key=lambda one: (one.p, -one.bad, one.node))


@dataclass(frozen=True)
class Guilty:
    """What explains bad runs.

    Attributes:
        nodes: one node, or several of which nothing says which it is: they took part in the same bad runs.
        bad, runs, p: as of a node in common.
    """

    nodes: tuple[str, ...]
    bad: int
    runs: int
    p: float


def guilty(groups: Sequence[Sequence[str]], bad: Sequence[bool]) -> list[Guilty]:
    """Find the nodes that explain bad runs, one after another.

    All runs of the clearest one are taken out before the next is looked for: its partners are in bad runs, too, and
    would look guilty without a fault of their own.
    """
    left = list(zip(groups, bad, strict=True))
    found: list[Guilty] = []
    while True:
        suspects = [one for one in in_common([group for group, _ in left], [one for _, one in left]) if one.suspect]
        if not suspects:
            return found
        first = suspects[0]
        same = _bad_runs(first.node, left)
        alike = tuple(one.node for one in suspects if one.runs == first.runs and _bad_runs(one.node, left) == same)
        found.append(Guilty(alike, first.bad, first.runs, first.p))
        left = [(group, one) for group, one in left if first.node not in group]


def _bad_runs(node: str, runs: Sequence[tuple[Sequence[str], bool]]) -> set[int]:
    return {number for number, (group, bad) in enumerate(runs) if bad and node in group}
