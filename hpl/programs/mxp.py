"""HPL-MxP: NVIDIA's through `hpl-mxp.sh`, which reads no file, and AMD's rocHPL-MxP, which reads HPL-MxP.dat.

Sources: NVIDIA HPC Benchmarks 24.06 and 26.02, as their users list the options of `hpl-mxp.sh`, with outputs of both;
ROCm/rocHPL-MxP, `hplmxp_pinfo.cpp` (arguments and file), `hplmxp_ptest.cpp` (output), `hplmxp_pmat.cpp` (single
precision on the GPU, whole blocks only) and `run_rochplmxp.in`. The largest N need not be the fastest: of two that were
published for 16 H200, 429,056 was 47 % faster than 606,208.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from ..output import HplOutput, HplResult
from ..params import HplParams, Scalar
from ..sizing import numroc, seconds
from ..workload import HPL_MXP
from .family import AskedStart, ProgramStart
from .nvidia import AFFINITY, OPTION, near_gpus
from .rochpl import AUTO, LOCAL_GRID, LOCAL_GRIDS, fits_nodes, installed, local_grid
from .terms import OWN, OwnParameter, OwnRule, Terms, one_a_gpu
from .yours import ProgramFile, beginning, holds

SCRIPTS = ("hpl-mxp.sh", "hpl-mxp-aarch64.sh")
ROUNDING_S, ROUNDING = 0.02, 0.01
"""NVIDIA prints both parts of the time to 0.01 s, the rate with five digits: within this the rate tells the time."""
SINGLE = 4
"""Bytes of an element on the GPU: both programs keep it in single precision there."""
ROC_MARK = b"rocHPL-MxP client command line options"
_RESULT = re.compile(
    r"^\s*N = (\d+), NB = (\d+), NPROW = (\d+), NPCOL = (\d+)[^\n]*\n\s*GFLOPS = (\S+), per GPU[^\n]*\n", re.MULTILINE
)
_CHECK = re.compile(r"^\s*\|\|Ax-b\|\|_oo\s*/[^=\n]*=\s*(\S+) \.+ (PASSED|FAILED)\s*$", re.MULTILINE)
_SECONDS = re.compile(r"^(?:LU|GMRES|IR) seconds: .*?MAX = +(\d+\.\d+)", re.MULTILINE)


def memory_bytes(run: HplParams) -> int:
    """Return the bytes of the matrix on the fullest GPU."""
    return SINGLE * numroc(run.N, run.NB, 0, run.P) * numroc(run.N, run.NB, 0, run.Q)


def whole_blocks(point: Mapping[str, Scalar], _ranks: int) -> str | None:
    """Require whole blocks: rocHPL-MxP would leave the rest of the matrix out."""
    if int(point["N"]) % int(point["NB"]) == 0:
        return None
    return f"N = {point['N']} is no multiple of NB = {point['NB']}: rocHPL-MxP computes whole blocks only"


@dataclass(frozen=True)
class NvidiaMxp(ProgramFile):
    """The script that gives each rank its GPU; its options say all."""

    name: ClassVar[str] = "nvidia-mxp"
    workload = HPL_MXP
    gpus_of: ClassVar[str] = "NVIDIA"
    runs_lists: ClassVar[bool] = False
    needs: ClassVar[str] = "NVIDIA's container of HPC benchmarks, whose licence you accept, and a GPU of NVIDIA"
    places: ClassVar[tuple[str, ...]] = (SCRIPTS[0], f"/workspace/{SCRIPTS[0]}")
    terms: ClassVar[Terms] = Terms(
        lines=("N", "NB", "grid", "PMAP"),
        takes={"binding": ("none",)},
        own=(
            OwnParameter("sloppy_type", (AUTO, "FP8"), AUTO),
            OwnParameter("u_panel_chunk_nbs", (8, 16, 4), 8, (1, 1024)),
            OwnParameter("use_mpi_panel_broadcast", (50, 0, 100), 50, (0, 100)),
            OwnParameter("prioritize_trsm", (0, 1), 0),
            OwnParameter("prioritize_factorization", (0, 1), 0),
            OwnParameter("use_separate_stream_for_gemm", (1, 0), 1),
            OwnParameter("fill_device", (0, 1), 0),
            OwnParameter(AFFINITY, ("near", "any"), "near"),
        ),
        usual_nb=2048,
        memory_bytes=memory_bytes,
        element_bytes=SINGLE,
        reads_file=False,
        ranks_on_node=one_a_gpu,
        no_other_ranks=True,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name and for its options."""
        return cls(file) if file.name in SCRIPTS and OPTION in beginning(file) else None

    def input_text(self, asked: AskedStart) -> str:  # noqa: ARG002 - its options say all
        """Write nothing: it reads no file."""
        return ""

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give it its sizes, each rank its GPU, and of its own options those that are not as it comes."""
        run, defaults = asked.runs[0], self.terms.own_of({})
        sizes = {"--n": run.N, "--nb": run.NB, "--nprow": run.P, "--npcol": run.Q, "--nporder": run.PMAP.word}
        own = {
            f"--{name.replace('_', '-')}": value
            for name, value in asked.own.items()
            if name != AFFINITY and value != defaults[name]
        }
        words = [word for name, value in {**sizes, **own}.items() for word in (name, str(value))]
        return ProgramStart((*words, *near_gpus(asked)))

    def parse(self, stdout: str) -> HplOutput:
        """Read its results: each stands behind its check, and both behind the seconds of its parts."""
        found, begin = [], 0
        for row in _RESULT.finditer(stdout):
            before, begin = stdout[begin : row.start()], row.end()
            checks, parts = _CHECK.findall(before), _SECONDS.findall(before)
            N, NB, P, Q = (int(number) for number in row.groups()[:4])
            try:
                gflops = float(row[5])
                residual = float(checks[-1][0]) if checks else None
            except ValueError:
                continue
            time_s = seconds(N, gflops) if gflops > 0 else 0.0
            if len(parts) > 1 and abs(sum(map(float, parts[-2:])) - time_s) > ROUNDING_S + ROUNDING * time_s:
                time_s = sum(map(float, parts[-2:]))
            passed = checks[-1][1] == "PASSED" if checks else None
            found.append(HplResult("HPL-MxP", N, NB, P, Q, time_s, gflops, residual, passed))
        return HplOutput(tuple(found), (), finished=bool(found))


@dataclass(frozen=True)
class RocHplMxp(ProgramFile):
    """The program, or the script `run_rochplmxp` that sets the paths of its libraries; it prints as netlib's HPL."""

    name: ClassVar[str] = "rochpl-mxp"
    workload = HPL_MXP
    gpus_of: ClassVar[str] = "AMD"
    runs_lists: ClassVar[bool] = False
    needs: ClassVar[str] = "rocHPL-MxP, which is built with ROCm, and a GPU of AMD"
    places: ClassVar[tuple[str, ...]] = ("run_rochplmxp", "/opt/rochplmxp/bin/run_rochplmxp")
    terms: ClassVar[Terms] = Terms(
        lines=("N", "NB", "grid", "PMAP", "BCAST"),
        takes={"binding": ("none", "core")},
        own=(OwnParameter(LOCAL_GRID, LOCAL_GRIDS, AUTO),),
        rules=(
            OwnRule("local_grid_fits_nodes", (OWN + LOCAL_GRID, "grid", "layout"), fits_nodes),
            OwnRule("whole_blocks", ("N", "memory_fraction", "NB", "grid", "layout"), whole_blocks),
        ),
        usual_nb=2560,
        memory_bytes=memory_bytes,
        element_bytes=SINGLE,
        ranks_on_node=one_a_gpu,
        no_other_ranks=True,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name, and for its help.

        Raises:
            UserProgramError: it is the script that starts MPI itself, or a script whose program is not there.
        """
        return cls(file) if installed(file, "rochplmxp", "rocHPL-MxP") or holds(file, ROC_MARK) else None

    def input_text(self, asked: AskedStart) -> str:
        """Write HPL-MxP.dat."""
        run = asked.runs[0]
        lines = (
            "HPLinpack benchmark input file", "written by hpltune", "HPL-MxP.out  output file name (if any)",
            "6            device out (6=stdout,7=stderr,file)", "1            # of problems sizes (N)",
            f"{run.N:<12d} Ns", "1            # of NBs", f"{run.NB:<12d} NBs",
            f"{int(run.PMAP):<12d} PMAP process mapping (0=Row-,1=Column-major)", f"{run.P:<12d} P", f"{run.Q:<12d} Q",
            f"{run.threshold:<12} threshold", "1            # of broadcast",
            f"{int(run.BCAST):<12d} BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)",
        )  # fmt: skip
        return "\n".join((*lines, ""))

    def parse(self, stdout: str) -> HplOutput:
        """Read its rows, which are what is asked of it."""
        found = super().parse(stdout)
        return replace(found, results=tuple(replace(one, mixed=False) for one in found.results))

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give it its grids; all else is read from HPL-MxP.dat."""
        run = asked.runs[0]
        p, q = local_grid(asked.own[LOCAL_GRID], f"{run.P}x{run.Q}", asked.ranks_on_node)
        grids = {"-P": run.P, "-Q": run.Q, "-p": p, "-q": q}
        words = [word for name, value in grids.items() for word in (name, str(value))]
        return ProgramStart((*words, "-i", self.workload.input_name))
