"""HPL on each node by itself, all nodes at once; the residual of each run is checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .hpl_runs import SoloHpl, run_of, sizes
from .step import NodeValues, StepPlace, StepResult
from .turns import Turn, Turns

TITLE = "HPL"
TARGET_S = 40.0
"""Seconds that one run takes."""
EVERY_S = 600.0
"""Nobody reads the sensors of so short a run."""


@dataclass(frozen=True)
class Hpl:
    """Runs HPL on each node.

    Attributes:
        repeats: runs; the best of each node counts.
        target_s: seconds that one run should take.
    """

    hpl: SoloHpl
    repeats: int = 3
    target_s: float = TARGET_S

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program, and the BLAS file if a node has it not."""
        return self.hpl.files(facts)

    def measure(self, place: StepPlace) -> StepResult:
        """Run HPL several times on all nodes at once."""
        size = sizes(place, self.hpl, self.target_s)

        def turn_on(nodes: Sequence[str]) -> Turn:
            named = ", ".join(f"{N:,}" for N in sorted({size[node].N for node in nodes}))
            commands = {node: self.hpl.command(place.facts, size[node].N, EVERY_S) for node in nodes}
            return Turn(f"{TITLE} with N = {named}", commands, max(size[node].limit_s for node in nodes))

        turns = Turns(place)
        turns.measure(TITLE, self.repeats, turn_on, lambda node, said: [run_of(node, said)])
        return turns.result()
