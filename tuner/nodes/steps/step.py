"""A step of a check: one kind of benchmark on all nodes. A new benchmark is a new step, in a file of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from results.node_check import GroupRun, NodeRun, PairRate
from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult
from runners.hosts.transport import Transport
from runners.readiness.asking import MISSING
from runners.readiness.fact_table import FILE
from runners.readiness.tied import TIMED_OUT, run_all_tied
from runners.readiness.watching import measured_in

from ...events import Listener, NodesRan, WorkEnded, WorkStarted
from ...stopping import StopRequest
from ...words import counted

NodeValues = Mapping[str, Mapping[str, str]]
"""By fact its value on each node."""


@dataclass(frozen=True)
class NodesTarget:
    """The nodes to check, and how they are reached.

    Attributes:
        switches: the switch of each node, where people told.
        interfaces: network interfaces over which messages go; empty takes the one over which nodes find each other.
        silent: nodes that are known not to answer, and why; they are asked nothing.
    """

    name: str
    nodes: tuple[str, ...]
    reach: Transport
    switches: Mapping[str, str] = field(default_factory=dict)
    interfaces: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StepPlace:
    """Where a step measures, and who watches.

    Attributes:
        folders: by node the folder that holds the copied files; nodes that were lost before are not in it.
        classes: the class of each node: nodes of one class should be alike.
        runs: what steps before this one measured.
        shared: nodes that run on one machine with others, as containers do: the busy time of that machine tells nothing
            of one node.
    """

    target: NodesTarget
    folders: Mapping[str, str]
    facts: NodeValues
    listener: Listener
    stop: StopRequest
    classes: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[NodeRun, ...] = ()
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StepResult:
    """What a step measured.

    Attributes:
        pairs: rates between two nodes, one pair at a time; `pairs_at_once` while all pairs of a pattern send.
        groups: runs of HPL on groups of nodes.
        lost: by node why it is asked nothing more.
        notes: what else people should know; each is told once.
    """

    runs: tuple[NodeRun, ...] = ()
    pairs: tuple[PairRate, ...] = ()
    pairs_at_once: tuple[PairRate, ...] = ()
    groups: tuple[GroupRun, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Step(Protocol):
    """One kind of benchmark."""

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the files that nodes need, by the name that each has there; they are copied before the first step."""
        ...

    def measure(self, place: StepPlace) -> StepResult:
        """Measure all nodes; what a node cannot do is told in the result, and the rest goes on."""
        ...


def files_of_blas(blas: Path, facts: NodeValues) -> Mapping[str, Path]:
    """Return the file, by its name on the nodes, if it must be copied to them."""
    return {blas.name: blas} if MISSING in facts.get(f"{FILE}{blas}", {}).values() else {}


def blas_on_nodes(blas: Path, facts: NodeValues) -> str:
    """Return the path by which a program in the folder of the copied files opens it."""
    return f"./{blas.name}" if files_of_blas(blas, facts) else str(blas)


MOST = 1e7
"""Of GFLOPS and of MB/s that one node reaches; a rack of GPUs has 1e6 GFLOPS."""
LIMIT_S = 600.0
"""Seconds that one call of a benchmark may take on a node; it hangs then."""
ONE_THREAD = tuple(f"{name}_NUM_THREADS=1" for name in ("OPENBLAS", "OMP", "MKL", "BLIS"))
"""Variables for a program that has a process for each core already."""

Said = CommandResult | UnreachableError


def call_all(
    place: StepPlace, nodes: Sequence[str], command: Sequence[str], limit_s: float | None = None
) -> Mapping[str, Said]:
    """Run a command on all nodes at the same time, each in its own folder.

    Args:
        command: variables, then a program; one of the folder is "./node_bench".
        limit_s: after which a node ends the program itself; None takes LIMIT_S.

    Returns:
        What each node said; none of a node whose program was stopped, as somebody asked for it.
    """
    return call_some(place, dict.fromkeys(nodes, command), limit_s)


def call_some(
    place: StepPlace, commands: Mapping[str, Sequence[str]], limit_s: float | None = None
) -> Mapping[str, Said]:
    """Run a command of its own on each node, all at the same time, as `call_all` does."""
    seconds = LIMIT_S if limit_s is None else limit_s
    return run_all_tied(place.target.reach, place.folders, commands, seconds, lambda: place.stop.requested)


def why_lost(node: str, said: Said, title: str, limit_s: float | None = None) -> str:
    """Return the sentence why a node is asked nothing more, or ""."""
    if isinstance(said, UnreachableError):
        return str(said)
    if said.exit_code in TIMED_OUT:
        seconds = LIMIT_S if limit_s is None else limit_s
        return f"node {node}: {title} hung there, and was ended after {seconds:.0f} s"
    return ""


def why_no_result(said: CommandResult) -> str:
    """Return why a program gave nothing: its last complaint, else its exit code."""
    return said.complaint or f"the program ended with code {said.exit_code} and no result"


def positive(text: str, most: float = MOST) -> float | None:
    """Return the number that a program printed; None where it is none above 0, or more than a node can do."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value <= most else None


OF_THE_MACHINE = frozenset({"foreign_cpu_s", "steal_s", "swap_pages"})
"""Measurements of a whole machine, which tell nothing of one of several nodes on it."""


def with_conditions(place: StepPlace, run: NodeRun, said: CommandResult) -> NodeRun:
    """Return a run with what its node did meanwhile, where a watched program printed that."""
    told = measured_in(said.stdout)
    left_out = OF_THE_MACHINE if run.node in place.shared else frozenset[str]()
    own = {name: value for name, value in told.items() if name.partition(":")[0] not in left_out}
    return replace(run, measurements=own)


Reader = Callable[[str, CommandResult], Sequence[NodeRun]]
"""Reads the runs of a node from what it said."""


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
    """

    place: StepPlace
    runs: list[NodeRun] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)

    def measure(self, title: str, repeats: int, turn_on: Callable[[Sequence[str]], Turn], read: Reader) -> None:
        """Run a benchmark in several turns.

        Args:
            title: of the benchmark, in the sentence about a node that hangs in it.
            turn_on: makes the turn on the nodes that are left.
        """
        place = self.place
        for number in range(repeats):
            alive = [node for node in place.folders if node not in self.lost]
            if place.stop.requested or not alive:
                break
            turn, before = turn_on(alive), len(self.runs)
            place.listener(WorkStarted(f"{turn.work}, on {counted(len(alive), 'node')}: {number + 1} of {repeats}"))
            for node, said in call_some(place, turn.commands, turn.limit_s).items():
                why = why_lost(node, said, title, turn.limit_s)
                if isinstance(said, UnreachableError) or why:
                    self.lost[node] = why
                else:
                    self.runs += [with_conditions(place, run, said) for run in read(node, said)]
            place.listener(WorkEnded())
            place.listener(NodesRan(tuple(self.runs[before:])))

    def result(self, notes: Sequence[str] = ()) -> StepResult:
        """Return what all turns gave."""
        return StepResult(tuple(self.runs), lost=self.lost, notes=tuple(notes))
