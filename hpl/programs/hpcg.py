"""HPCG: the reference program `xhpcg`, and NVIDIA's for its GPUs through `hpcg.sh`.

Sources: hpcg-benchmark/hpcg 3.1: `init.cpp` (it reads hpcg.dat; a size below 16 is replaced silently),
`ReportResults.cpp` (the report, 1800 s for an official result), `CheckAspectRatio.cpp`. NVIDIA/nvidia-hpcg: `hpcg.sh`
(options), `RUNNING-x86` (a rank on each GPU; the report on the standard output).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..output import HplOutput, HplResult
from ..params import HplParams, Scalar
from ..workload import HPCG
from .family import GLOBAL_RANK, AskedStart, ProgramStart, UserProgramError
from .terms import OWN, NodeShape, OwnParameter, OwnRule, Terms, divisors
from .yours import ProgramFile, beginning, holds

MARK = b"HPCG result is VALID with a GFLOP/s rating of"
SCRIPT = "hpcg.sh"
OPTION = "--gpu-affinity"
SIZES = ("nx", "ny", "nz")
SECONDS = "seconds"
OFFICIAL_S = 1800
"""Seconds of the timed part from which a result is official."""
SMALLEST, LARGEST, STEP = 16, 1024, 8
LEAST_ASPECT = 0.125
"""The smallest size of a rank over its largest one; HPCG stops below."""
BYTES = 720
"""Bytes of an equation: the reference program tells 715 of 32 x 32 x 32 equations, and fewer of more."""
REPORT = "HPCG-Benchmark_*.txt"
_LINE = re.compile(r"^([^=\n]+)=([^\n]*)\n", re.MULTILINE)
LARGEST_INT = 2**31 - 1


def sizes_of(point: Mapping[str, Scalar]) -> tuple[int, int, int]:
    """Return the equations of a rank in each direction."""
    nx, ny, nz = (int(point.get(OWN + name, 104)) for name in SIZES)
    return nx, ny, nz


def stand_in(point: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the equations of a rank as N, and the ranks as P."""
    nx, ny, nz = sizes_of(point)
    ranks = str(point.get("layout", "1x1")).partition("x")[0]
    return {"N": nx * ny * nz, "NB": 1, "grid": f"{ranks}x1"}


def steps_of_eight(point: Mapping[str, Scalar], _ranks: int) -> str | None:
    """Require sizes that the four grids of the multigrid can halve three times."""
    for name, size in zip(SIZES, sizes_of(point), strict=True):
        if size % STEP:
            return f"{OWN}{name} = {size} is refused by HPCG: take a multiple of {STEP}"
    return None


def no_slab(point: Mapping[str, Scalar], _ranks: int) -> str | None:
    """Require sizes of a rank that are not too different."""
    sizes = sizes_of(point)
    if min(sizes) >= LEAST_ASPECT * max(sizes):
        return None
    asked = "x".join(map(str, sizes))
    return f"{asked} equations of a rank are refused by HPCG: take no size below {LEAST_ASPECT:g} of the largest one"


def memory_bytes(run: HplParams) -> int:
    """Return the bytes of a rank."""
    return BYTES * run.N


def ranks_on_node(node: NodeShape) -> tuple[int, ...]:
    """Return a rank for each GPU, or all numbers of ranks that share the cores."""
    return (len(node.gpus),) if node.gpus else divisors(node)


@dataclass(frozen=True)
class HpcgResult(HplResult):
    """A rating; its residual is the mean of the scaled residuals of all sets of iterations."""

    @property
    def consistent(self) -> bool:
        """Whether it is a rate; how many operations it counts is told by its report only."""
        return 0 < self.gflops < float("inf") and self.time_s > 0

    def why_not(self, threshold: float | None = None) -> str:
        """Say what HPCG says against it."""
        del threshold
        if not self.passed:
            return "HPCG says that its result is INVALID"
        return "" if self.consistent else f"a rating of {self.gflops} in {self.time_s} s is none"


def report_of(text: str) -> HpcgResult | None:
    """Read the report that is last in a text; None where there is none that tells a result."""
    told: dict[str, str] = {}
    for name, value in _LINE.findall(text):
        told[name.strip()] = value.strip()
    if "Final Summary" not in told:
        return None
    valid = told.get("Final Summary::HPCG result is VALID with a GFLOP/s rating of")
    if valid is None and "Final Summary::HPCG result is" not in told:
        return None
    numbers = [
        _number(told.get(name))
        for name in (
            *(f"Local Domain Dimensions::{name}" for name in SIZES),
            "Machine Summary::Distributed Processes",
            "Benchmark Time Summary::Total",
            "Reproducibility Information::Scaled residual mean",
        )
    ]
    rating = _number(valid if valid is not None else told.get("GFLOP/s Summary::Raw Total"))
    if rating is None or any(number is None for number in numbers):
        return None
    nx, ny, nz, ranks, time_s, residual = (number or 0.0 for number in numbers)
    equations = int(min(nx * ny * nz, LARGEST_INT))
    return HpcgResult("HPCG", equations, 1, int(ranks), 1, time_s, rating, residual, passed=valid is not None)


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


@dataclass(frozen=True)
class Hpcg(ProgramFile):
    """The reference program, or one of a vendor for cores that has its report."""

    name: ClassVar[str] = "hpcg"
    workload = HPCG
    runs_lists: ClassVar[bool] = False
    needs: ClassVar[str] = "a build of https://github.com/hpcg-benchmark/hpcg"
    places: ClassVar[tuple[str, ...]] = ("xhpcg", "/opt/hpcg*/bin/xhpcg", "~/hpcg*/bin/xhpcg")
    terms: ClassVar[Terms] = Terms(
        lines=(),
        stands_in=stand_in,
        own=(
            *(OwnParameter(name, (104, 64, 80, 128, 160, 192), 104, (SMALLEST, LARGEST)) for name in SIZES),
            OwnParameter(SECONDS, (60,), 60, (1, 86400)),
        ),
        rules=(
            OwnRule("steps_of_eight", tuple(OWN + name for name in SIZES), steps_of_eight),
            OwnRule("no_slab", tuple(OWN + name for name in SIZES), no_slab),
        ),
        memory_bytes=memory_bytes,
        ranks_on_node=ranks_on_node,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name, and for the words of its report.

        Raises:
            UserProgramError: it is NVIDIA's program without its script.
        """
        if file.name == SCRIPT and OPTION in beginning(file):
            return None
        if holds(file, MARK, b"cusparse"):
            needs = "each rank of NVIDIA's HPCG needs its GPU: name hpcg.sh, which gives it"
            raise UserProgramError(needs, field="xhpl", given=file)
        return cls(file) if "xhpcg" in file.name or holds(file, MARK) else None

    def input_text(self, asked: AskedStart) -> str:
        """Write hpcg.dat: two lines of words, the equations of a rank, the seconds of the timed part."""
        sizes = " ".join(str(asked.own[name]) for name in SIZES)
        return f"HPCG benchmark input file\nwritten by hpltune\n{sizes}\n{asked.own[SECONDS]}\n"

    def cautions(self, point: Mapping[str, Scalar]) -> Sequence[str]:
        """Say that short runs are not official."""
        run_s = float(point.get(OWN + SECONDS, OFFICIAL_S))
        if run_s >= OFFICIAL_S:
            return ()
        official = f"⟦set⟧ {OWN}{SECONDS}={OFFICIAL_S}"
        return (
            f"Each run computes {run_s:g} s, so its rating is not official: HPCG demands {OFFICIAL_S} s ({official})",
        )

    def start(self, asked: AskedStart) -> ProgramStart:  # noqa: ARG002 - all else is in hpcg.dat
        """Let rank 0 print the report, which HPCG writes into a file of its own."""
        first = f'[ "{GLOBAL_RANK}" != 0 ] ||'
        words = f'{first} rm -f {REPORT}; "$0" "$@"; code=$?; {first} cat {REPORT} 2>/dev/null; exit $code'
        return ProgramStart(before=("/bin/sh", "-c", words))

    def parse(self, stdout: str) -> HplOutput:
        """Read its report."""
        result = report_of(stdout)
        return HplOutput((result,) if result else (), (), finished=result is not None)


@dataclass(frozen=True)
class NvidiaHpcg(Hpcg):
    """NVIDIA's script, which gives each rank its GPU; it prints the report itself."""

    name: ClassVar[str] = "nvidia-hpcg"
    gpus_of: ClassVar[str] = "NVIDIA"
    needs: ClassVar[str] = "NVIDIA's container of HPC benchmarks, or a build of NVIDIA/nvidia-hpcg, and a GPU of NVIDIA"
    places: ClassVar[tuple[str, ...]] = (SCRIPT, f"/workspace/{SCRIPT}")
    terms: ClassVar[Terms] = Terms(
        lines=(),
        stands_in=stand_in,
        takes={"binding": ("none",)},
        own=(
            *(OwnParameter(name, (256, 128, 192, 320, 384), 256, (SMALLEST, LARGEST)) for name in SIZES),
            OwnParameter(SECONDS, (60,), 60, (1, 86400)),
            OwnParameter("p2p", (0, 1, 2, 3, 4), 0),
            OwnParameter("l2cmp", (0, 1), 0),
        ),
        rules=Hpcg.terms.rules,
        memory_bytes=memory_bytes,
        ranks_on_node=ranks_on_node,
        no_other_ranks=True,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name and for its options."""
        return cls(file) if file.name == SCRIPT and OPTION in beginning(file) else None

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give each rank of a node its GPU; sizes and seconds are in hpcg.dat."""
        gpus = ":".join(str(number) for number in range(asked.ranks_on_node))
        own = [word for name in ("p2p", "l2cmp") for word in (f"--{name}", str(asked.own[name]))]
        return ProgramStart(("--dat", self.workload.input_name, OPTION, gpus, *own))
