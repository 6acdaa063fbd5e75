"""STREAM and DGEMM on each node, by a small program of our own (hpl/native/node_bench)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.node_check import BENCHMARKS, NodeRun
from runners.hosts.hearing import CommandResult
from runners.hosts.transport import SHOWN
from runners.readiness.watching import watched_command

from .step import (
    ONE_THREAD,
    NodeValues,
    StepPlace,
    StepResult,
    Turn,
    Turns,
    blas_on_nodes,
    files_of_blas,
    positive,
    why_no_result,
)

PROGRAM = "node_bench"
CORES = (("1", "one core"), ("0", "all cores"))
REPEATS = 3


@dataclass(frozen=True)
class Stream:
    """Times the memory of each node.

    Attributes:
        program: the program that times a node.
        repeats: runs; the best of each node counts.
        array_bytes: of an array; 0 takes four times the caches, as STREAM's rules want.
    """

    program: Path
    repeats: int = REPEATS
    array_bytes: int = 0

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program."""
        del facts
        return {PROGRAM: self.program}

    def measure(self, place: StepPlace) -> StepResult:
        """Run STREAM's four kernels on all nodes at once."""
        calls = [(f"STREAM, {words}", ("stream", cores, str(self.array_bytes))) for cores, words in CORES]
        return _measured(place, calls, self.repeats)


@dataclass(frozen=True)
class Dgemm:
    """Times the processor of each node.

    Attributes:
        program: the program that times a node.
        blas: the BLAS file whose DGEMM is timed. It is copied to nodes if one has it not.
        prefix: what the names of its routines begin with.
        repeats: runs; the best of each node counts.
        n: order of the matrices; 0 takes a usual one.
    """

    program: Path
    blas: Path
    prefix: str = ""
    repeats: int = REPEATS
    n: int = 2000

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program, and the BLAS file if a node has it not."""
        return {PROGRAM: self.program, **files_of_blas(self.blas, facts)}

    def measure(self, place: StepPlace) -> StepResult:
        """Multiply matrices on all nodes at once."""
        file = blas_on_nodes(self.blas, place.facts)
        more = (self.prefix,) if self.prefix else ()
        calls = [(f"DGEMM, {words}", ("dgemm", cores, str(self.n), file, *more)) for cores, words in CORES]
        return _measured(place, calls, self.repeats)


def _measured(place: StepPlace, calls: Sequence[tuple[str, tuple[str, ...]]], repeats: int) -> StepResult:
    """Make each call several times on all nodes at once; a node that is lost is asked nothing more."""
    turns = Turns(place)
    notes: dict[str, None] = {}
    for title, arguments in calls:
        _call(turns, title, arguments, repeats, notes)
    return turns.result(tuple(notes))


def _call(turns: Turns, title: str, arguments: Sequence[str], repeats: int, notes: dict[str, None]) -> None:
    """Make one call several times; what the program notes is added to the notes."""
    command = watched_command(ONE_THREAD, (f"./{PROGRAM}", *arguments))

    def read(node: str, said: CommandResult) -> list[NodeRun]:
        notes.update(dict.fromkeys(parse_notes(said.stdout)))
        return parse_runs(node, said) or _failed(node, said, arguments)

    turns.measure(title, repeats, lambda nodes: Turn(title, dict.fromkeys(nodes, command)), read)


def _failed(node: str, said: CommandResult, arguments: Sequence[str]) -> list[NodeRun]:
    """The runs of a call that gave no result: the program could not start, or died."""
    kind, cores = arguments[0], "1" if arguments[1] == "1" else "all"
    names = [name for name in BENCHMARKS if name.startswith(kind) and name.endswith(f"-{cores}")]
    return [NodeRun(name, node, None, accurate=False, reason=why_no_result(said)) for name in names]


def parse_runs(node: str, said: CommandResult) -> list[NodeRun]:
    """Read the lines of the program: run, benchmark, value, ok or wrong, reason; others are left out."""
    found = []
    for line in said.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) != 5 or parts[0] != "run" or parts[1] not in BENCHMARKS or parts[3] not in {"ok", "wrong"}:
            continue
        value = positive(parts[2])
        if value is None:
            reason = f"it prints {parts[2][:SHOWN]!r} as its rate"
        else:
            reason = "" if parts[3] == "ok" else parts[4] or "wrong"
        found.append(NodeRun(parts[1], node, value, accurate=not reason, reason=reason))
    return found


def parse_notes(text: str) -> list[str]:
    """Read the sentences of the program."""
    lines = (line.partition("\t") for line in text.splitlines())
    return [sentence for word, tab, sentence in lines if tab and word == "note"]
