"""HPL on each node by itself, all nodes at once; the residual of each run is checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from results.stats.nodes.check import NodeRun
from runners.errors import UnreachableError

from ..events import WorkEnded, WorkStarted
from ..words import counted
from .calling import call_some, why_lost
from .hpl_runs import SoloHpl, run_of, sizes
from .step import NodeValues, StepPlace, StepResult

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
        runs: list[NodeRun] = []
        lost: dict[str, str] = {}
        for turn in range(self.repeats):
            alive = [node for node in size if node not in lost]
            if place.stop.requested or not alive:
                break
            named = ", ".join(f"{N:,}" for N in sorted({size[node].N for node in alive}))
            work = f"{TITLE} with N = {named}, on {counted(len(alive), 'node')}: {turn + 1} of {self.repeats}"
            place.listener(WorkStarted(work))
            commands = {node: self.hpl.command(place.facts, size[node].N, EVERY_S) for node in alive}
            limit_s = max(size[node].limit_s for node in alive)
            for node, said in call_some(place, commands, limit_s).items():
                why = why_lost(node, said, TITLE, limit_s)
                if isinstance(said, UnreachableError) or why:
                    lost[node] = why
                else:
                    runs.append(run_of(node, said))
            place.listener(WorkEnded())
        return StepResult(tuple(runs), lost=lost)
