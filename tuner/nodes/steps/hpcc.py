"""FFT and RandomAccess on one core of each node, by the hpcc that nodes have (HPC Challenge; Debian has a package)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.node_check import NodeRun, ranges
from runners.hosts.hearing import CommandResult
from runners.readiness.watching import EVERY_S, WATCHED

from .step import ONE_THREAD, NodeValues, StepPlace, StepResult, Turn, Turns, positive

TITLE = "FFT and RandomAccess by hpcc"
N, NB = 3000, 128
"""Of the HPL in hpcc, which gives all other sizes: tables of 64 MiB for RandomAccess, vectors of 32 MiB for FFT."""
MISSING = "hpcc is missing"
_NOTHING_MORE = "##### separator #####\n0 sizes for PTRANS\n1200\n0 blocking sizes for PTRANS\n40\n"
_RUN = rf"""
root=${{HPLTUNE_SYSTEM_ROOT:-}}
{WATCHED}
command -v hpcc >/dev/null || {{ echo '{MISSING}'; exit 0; }}
printf '%s' "$1" >hpccinf.txt && rm -f hpccoutf.txt
watched {EVERY_S:g} hpcc >/dev/null 2>hpcc.err
cat readings hpccoutf.txt; cat hpcc.err >&2
exit "$code"
"""
_SECTIONS = {
    "random-access-1": ("SingleRandomAccess", re.compile(r"^Single GUP/s (\S+)", re.MULTILINE)),
    "fft-1": ("SingleFFT", re.compile(r"^Single FFT Gflop/s (\S+)", re.MULTILINE)),
}
"""By benchmark the section of hpcc's output, and its rate."""
_RIGHT = re.compile(r"^Node\(s\) with error 0$", re.MULTILINE)
"""hpcc checks each result: RandomAccess undoes its updates, FFT its transform."""


@dataclass(frozen=True)
class Hpcc:
    """Runs hpcc as one process on each node.

    Attributes:
        repeats: runs; the best of each node counts.
    """

    repeats: int = 3

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return no file: nodes have the program, or nothing is measured there."""
        del facts
        return {}

    def measure(self, place: StepPlace) -> StepResult:
        """Run hpcc several times on all nodes at once."""
        text = render(HplDat.of(HplParams(N, NB, 1, 1))) + _NOTHING_MORE
        command = (*ONE_THREAD, "sh", "-c", _RUN, "sh", text)
        turns = Turns(place)
        turns.measure(TITLE, self.repeats, lambda nodes: Turn(TITLE, dict.fromkeys(nodes, command)), _read)
        said_of = f"FFT and RandomAccess were not measured on {ranges(tuple(turns.silenced))}: hpcc is missing there; "
        return turns.result((f"{said_of}Debian's package hpcc has it.",) if turns.silenced else ())


def _read(node: str, said: CommandResult) -> list[NodeRun] | None:
    """Read the runs of a node; None where it has no hpcc."""
    return None if said.stdout.strip() == MISSING else hpcc_runs(node, said)


def hpcc_runs(node: str, said: CommandResult) -> list[NodeRun]:
    """Read hpcc's output; a section that is missing, or whose check found errors, is a run that does not count."""
    found = []
    for benchmark, (name, rate) in _SECTIONS.items():
        _, _, rest = said.stdout.partition(f"Begin of {name} section.")
        section, ended, _ = rest.partition(f"End of {name} section.")
        match = rate.search(section)
        value = positive(match[1]) if match and ended else None
        reason = "" if _RIGHT.search(section) else f"hpcc found errors in {name}"
        if value is None:
            reason = said.complaint or f"hpcc ended with code {said.exit_code} and no rate of {name}"
        found.append(NodeRun(benchmark, node, value, accurate=not reason, reason=reason))
    return found
