"""A run of HPL on a group of nodes, and which nodes are grouped."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

ORDERS = ("sorted", "shuffle")


@dataclass(frozen=True)
class GroupRun:
    """One run of HPL over MPI on a group of nodes, while all other groups of its turn run, too.

    Attributes:
        order: "sorted" groups are neighbours, "shuffle" groups are drawn anew in each turn.
        turn: from 1.
        gflops: None where the run gave none.
        accurate: HPL's residual passed.
        reason: why it does not count; "" if it does.
    """

    order: str
    turn: int
    nodes: tuple[str, ...]
    gflops: float | None
    accurate: bool = True
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Return whether the run gave a right result."""
        return self.gflops is not None and self.accurate

    @property
    def why(self) -> str:
        """Return why it does not count, also where nobody told."""
        return self.reason or "its residual is too large"


TURNS = 1000
"""More than there are turns: so many numbers of a random order belong to each seed."""


def groups_of(order: str, nodes: Sequence[str], size: int, turn: int = 1, seed: int = 0) -> list[tuple[str, ...]]:
    """Group nodes, each once; those that are left over make no group.

    Args:
        nodes: in the order of their place in the racks.
        turn: from 1. Shuffled groups are drawn anew in each; sorted ones leave over the last nodes, and in even turns
            the first ones.
        seed: of shuffled groups.
    """
    ordered = list(nodes)
    if order == "shuffle":
        random.Random(TURNS * seed + turn).shuffle(ordered)  # noqa: S311 - no secret
    skipped = len(ordered) % size if order == "sorted" and turn % 2 == 0 else 0
    ordered = ordered[skipped:]
    return [tuple(ordered[first : first + size]) for first in range(0, len(ordered) - size + 1, size)]
