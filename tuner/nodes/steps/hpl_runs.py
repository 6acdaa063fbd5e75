"""HPL on a node by itself: how large, by which command, and what its output says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hpl.build.node_programs import BLAS_VARIABLE, PREFIX_VARIABLE
from hpl.dat import HplDat, render
from hpl.output import parse, proves
from hpl.params import HplParams
from hpl.sizing import NodeShare, SizingError, n_for_memory, seconds
from results.node_check import NodeRun
from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult
from runners.readiness.watching import EVERY_S, WATCHED

from ...events import WorkEnded, WorkStarted
from ...words import counted
from .step import (
    LIMIT_S,
    NodeValues,
    StepPlace,
    StepResult,
    Turn,
    Turns,
    blas_on_nodes,
    call_all,
    files_of_blas,
    positive,
    why_no_result,
)

PROGRAM = "xhpl-solo"
NB = 192
"""HPL's FAQ: from 32 to 256; a node is compared with others, so that the very best is not needed."""
MEMORY_SHARE = 0.8
"""HPL's FAQ: the other fifth is for the system."""
OF_DGEMM = 0.7
"""HPL's usual rate against DGEMM's, for the time of a run before there was one."""
PILOT_BLOCKS = 16
"""Blocks of NB in each direction of the run that tells how fast nodes are, where DGEMM was not timed."""
HANGS = 8.0
"""A run hangs that takes this many times the expected seconds."""
GIB = 2.0**30
_RUN = rf"""
root=${{HPLTUNE_SYSTEM_ROOT:-}}
{WATCHED}
printf '%s' "$1" >HPL.dat
cores=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list 2>/dev/null | sort -u | grep -c .)
allowed=$(nproc)
[ "$cores" -gt 0 ] && [ "$cores" -lt "$allowed" ] || cores=$allowed
for name in OPENBLAS OMP MKL BLIS; do export "${{name}}_NUM_THREADS=$cores"; done
watched "$2" ./{PROGRAM} >hpl.out 2>hpl.err
cat readings hpl.out
cat hpl.err >&2
[ "$code" -ne 137 ] || {{ echo "it was killed: most often the memory was full" >&2; code=1; }}
exit "$code"
"""
"""One process, a thread for each core, and what the node does before, while and after it runs."""


@dataclass(frozen=True)
class SoloHpl:
    """The program, and the BLAS that it opens on a node.

    Attributes:
        blas: the file; it is copied to nodes if one has it not.
        prefix: what the names of its routines begin with.
    """

    program: Path
    blas: Path
    prefix: str = ""

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program, and the BLAS file if a node has it not."""
        return {PROGRAM: self.program, **files_of_blas(self.blas, facts)}

    def command(self, facts: NodeValues, N: int, every_s: float) -> tuple[str, ...]:
        """Return the command that runs HPL once and reads the sensors from time to time."""
        variables = (f"{BLAS_VARIABLE}={blas_on_nodes(self.blas, facts)}", f"{PREFIX_VARIABLE}={self.prefix}")
        return (*variables, "sh", "-c", _RUN, "sh", render(HplDat.of(HplParams(N, NB, 1, 1))), f"{every_s:g}")


@dataclass(frozen=True)
class HplSize:
    """How large a run is.

    Attributes:
        expected_s: seconds that it will probably take.
    """

    N: int
    expected_s: float

    @property
    def limit_s(self) -> float:
        """Return the seconds after which a run hangs."""
        return max(LIMIT_S, HANGS * self.expected_s)


def sizes(place: StepPlace, hpl: SoloHpl, target_s: float) -> Mapping[str, HplSize]:
    """Choose N, the same in a class, so that a run takes about this time and at most MEMORY_SHARE of the memory.

    DGEMM's rates tell how fast nodes are, or else a short run of HPL on all of them. Where neither can be had, the next
    run is a short one, too, and tells why.
    """
    rates = _rates(place, hpl)
    found: dict[str, HplSize] = {}
    classes: dict[str, list[str]] = {}
    for node in place.folders:
        classes.setdefault(place.classes.get(node, ""), []).append(node)
    for members in classes.values():
        own = [rates[node] for node in members if node in rates]
        wanted = n_for_time(median(own), target_s) if own else PILOT_BLOCKS * NB
        N = min(wanted, _n_for_memory(place, members))
        found |= dict.fromkeys(members, HplSize(N, seconds(N, median(own)) if own else 0.0))
    return found


def n_for_time(gflops: float, target_s: float) -> int:
    """Return the N, in whole blocks, whose run takes about this time at this rate; at least four blocks."""
    return max(4, round(math.cbrt(1.5e9 * gflops * target_s) / NB)) * NB


def run_of(node: str, said: CommandResult) -> NodeRun:
    """Read HPL's output; a run without a result or without a passed residual is not accurate."""
    output = parse(said.stdout)
    if not output.results:
        reason = said.complaint or "".join(output.errors[-1:]) or why_no_result(said)
        return NodeRun("hpl", node, None, accurate=False, reason=reason)
    result = output.results[-1]
    if result.passed is not True or not proves(result.residual):
        word = "FAILED" if result.passed is False else "not a number above 0 and below 16"
        shown = "was not checked" if result.residual is None else f"is {result.residual:.3g}: {word}"
        return NodeRun("hpl", node, result.gflops, accurate=False, reason=f"HPL's scaled residual {shown}")
    return NodeRun("hpl", node, result.gflops)


def _rates(place: StepPlace, hpl: SoloHpl) -> dict[str, float]:
    """GFLOPS that HPL will probably reach on each node."""
    timed = {run.node: OF_DGEMM * run.value for run in place.runs if run.benchmark == "dgemm-all" and run.value}
    if timed:
        return timed
    place.listener(WorkStarted(f"A short run of HPL, on {counted(len(place.folders), 'node')}"))
    said = call_all(place, list(place.folders), hpl.command(place.facts, PILOT_BLOCKS * NB, 60.0))
    place.listener(WorkEnded())
    runs = [run_of(node, own) for node, own in said.items() if not isinstance(own, UnreachableError)]
    return {run.node: run.value for run in runs if run.value}


def _n_for_memory(place: StepPlace, nodes: Sequence[str]) -> int:
    known = (positive(place.facts.get("memory_free_gib", {}).get(node, "")) for node in nodes)
    free = [GIB * value for value in known if value]
    try:
        return n_for_memory([NodeShare(int(min(free)), 1)], fraction=MEMORY_SHARE, NB=NB) if free else PILOT_BLOCKS * NB
    except SizingError:
        return NB


TITLE = "HPL"
TARGET_S = 40.0
"""Seconds that one run takes."""


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
