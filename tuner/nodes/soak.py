"""A burn-in: HPL again and again on all nodes until a time is over, with clock and temperature of each."""

import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from results.stats.nodes.check import NodeRun, SoakSample
from runners.errors import UnreachableError
from runners.hosts.hearing import CommandResult
from runners.readiness.sensors import parse_sensors

from ..events import WorkEnded, WorkProgress, WorkStarted
from ..units import duration
from ..words import counted
from .calling import call, why_lost
from .hpl_runs import HplSize, SoloHpl, run_of, sizes
from .step import NodeValues, StepPlace, StepResult

TITLE = "HPL"
RUNS = 6
"""At least so many runs fit the time, or the memory is not filled: fewer tell nothing about a fall."""
SHORTEST_S, READINGS = 5.0, 240
"""Seconds between two readings of the sensors, or as many readings of a node in all."""
TELL_S = 2.0
"""Seconds between two tellings how much time is left."""


@dataclass
class _Burned:
    """What is known of one node so far."""

    runs: list[NodeRun] = field(default_factory=list)
    samples: list[SoakSample] = field(default_factory=list)
    lost: str = ""


@dataclass(frozen=True)
class Soak:
    """Runs HPL on each node until the time is over; each node goes on by itself.

    Attributes:
        duration_s: seconds after which no run begins.
    """

    hpl: SoloHpl
    duration_s: float

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the program, and the BLAS file if a node has it not."""
        return self.hpl.files(facts)

    def measure(self, place: StepPlace) -> StepResult:
        """Run HPL again and again on all nodes at once; a stop keeps what was measured until then."""
        size = sizes(place, self.hpl, self.duration_s / RUNS)
        if not size or place.stop.requested:
            return StepResult()
        burned = {node: _Burned() for node in size}
        began_s = time.monotonic()
        named = ", ".join(f"{N:,}" for N in sorted({own.N for own in size.values()}))
        lasting, where = duration(self.duration_s), counted(len(size), "node")
        place.listener(WorkStarted(f"HPL with N = {named} for {lasting}, on {where}"))
        with ThreadPoolExecutor(len(size)) as pool:
            waiting = {pool.submit(self._burn, place, node, size[node], burned[node]) for node in size}
            while waiting:
                waiting = wait(waiting, TELL_S, FIRST_COMPLETED).not_done
                past_s = min(time.monotonic() - began_s, self.duration_s)
                place.listener(WorkProgress(past_s / self.duration_s, self.duration_s - past_s))
        place.listener(WorkEnded())
        return StepResult(
            runs=tuple(run for own in burned.values() for run in own.runs),
            soak=tuple(sample for own in burned.values() for sample in own.samples),
            lost={node: own.lost for node, own in burned.items() if own.lost},
        )

    def _burn(self, place: StepPlace, node: str, size: HplSize, burned: _Burned) -> None:
        """Run HPL on one node until the time is over, or the node is lost, or somebody stops it."""
        command = self.hpl.command(place.facts, size.N, max(SHORTEST_S, self.duration_s / READINGS))
        began_s = time.monotonic()
        past_s = 0.0
        while past_s < self.duration_s:
            said = call(place, node, command, size.limit_s)
            ended_s = time.monotonic() - began_s
            if said is None:
                return
            why = why_lost(node, said, TITLE, size.limit_s)
            if isinstance(said, UnreachableError) or why:
                burned.lost = f"{why} (after {duration(ended_s)} of HPL again and again)"
                return
            run = run_of(node, said)
            after = f"{run.reason} after {duration(ended_s)}" if run.reason else ""
            burned.runs.append(replace(run, reason=after))
            burned.samples += _samples(node, said, past_s, ended_s, run.value)
            if run.value is None:
                return
            past_s = ended_s


def _samples(node: str, said: CommandResult, began_s: float, ended_s: float, gflops: float | None) -> list[SoakSample]:
    """Read the sensors' lines of one run; the last one has its rate, too.

    Args:
        began_s, ended_s: of the run, since the first one began.
    """
    readings = parse_sensors(said.stdout)
    samples = [
        SoakSample(
            node, round(began_s + one.up_s - readings[0].up_s, 1), None, one.mhz, one.celsius, one.throttled, one.load
        )
        for one in readings
    ]
    last = samples.pop() if samples else SoakSample(node, ended_s)
    return [*samples, replace(last, at_s=round(ended_s, 1), gflops=gflops)]
