"""Runs a benchmark several times on all nodes at once, until all turns are over or somebody stops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from results.stats.nodes.check import NodeRun
from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult

from ..events import NodesRan, WorkEnded, WorkStarted
from ..words import counted
from .calling import call_some, why_lost
from .step import StepPlace, StepResult

Reader = Callable[[str, CommandResult], Sequence[NodeRun] | None]
"""Reads the runs of a node from what it said; None asks that node nothing more."""


@dataclass(frozen=True)
class Turn:
    """What nodes do in one turn.

    Attributes:
        work: in words.
        commands: by node, as `calling.call_some` takes them.
        limit_s: after which a program hangs; None takes the usual one.
    """

    work: str
    commands: Mapping[str, Sequence[str]]
    limit_s: float | None = None


@dataclass
class Turns:
    """The turns of a step, and what they gave so far.

    Attributes:
        lost: by node why it is asked nothing more.
        silenced: nodes that a reader wants to ask nothing more.
    """

    place: StepPlace
    runs: list[NodeRun] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    silenced: list[str] = field(default_factory=list)

    def measure(self, title: str, repeats: int, turn_on: Callable[[Sequence[str]], Turn], read: Reader) -> None:
        """Run a benchmark in several turns.

        Args:
            title: of the benchmark, in the sentence about a node that hangs in it.
            turn_on: makes the turn on the nodes that are left.
        """
        place = self.place
        for number in range(repeats):
            alive = [node for node in place.folders if node not in self.lost and node not in self.silenced]
            if place.stop.requested or not alive:
                break
            turn, before = turn_on(alive), len(self.runs)
            place.listener(WorkStarted(f"{turn.work}, on {counted(len(alive), 'node')}: {number + 1} of {repeats}"))
            for node, said in call_some(place, turn.commands, turn.limit_s).items():
                why = why_lost(node, said, title, turn.limit_s)
                if isinstance(said, UnreachableError) or why:
                    self.lost[node] = why
                elif (found := read(node, said)) is None:
                    self.silenced.append(node)
                else:
                    self.runs += found
            place.listener(WorkEnded())
            place.listener(NodesRan(tuple(self.runs[before:])))

    def result(self, notes: Sequence[str] = ()) -> StepResult:
        """Return what all turns gave."""
        return StepResult(tuple(self.runs), lost=self.lost, notes=tuple(notes))
