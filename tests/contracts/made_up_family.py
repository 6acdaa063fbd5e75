"""A small family that no vendor has: one file, as a new family of hpltune would be, and its program on disk."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from as_user import program

from hpl.output import HplOutput, HplResult
from hpl.params import HplParams
from hpl.programs.family import AskedStart, ProgramStart
from hpl.programs.terms import OwnParameter, Terms
from hpl.programs.yours import ProgramFile
from hpl.sizing import memory_bytes, seconds

MARK = b"made-up HPL 1.0"
_SCORE = re.compile(
    r"^Score N=(\d+) NB=(\d+) grid=(\d+)x(\d+) time=(\S+) rate=(\S+) residual=(\S+) (good|bad)$", re.MULTILINE
)


@dataclass(frozen=True)
class MadeUp(ProgramFile):
    """It splits its update, refuses what its GPU cannot do, heeds no BCAST, and prints one line of its own."""

    name: ClassVar[str] = "madeup"
    runs_lists: ClassVar[bool] = False
    terms: ClassVar[Terms] = Terms(
        ignores={"BCAST": "1rg"},
        takes={"SWAP": ("long",), "EQUIL": ("no",), "DEPTH": (1,)},
        own=(
            OwnParameter("split", (0.3, 0.5, 0.7), 0.3, (0.0, 1.0)),
            OwnParameter("panel", ("host", "device"), "host"),
        ),
        usual_nb=64,
        ranks_on_node=lambda _: (1,),
        no_other_ranks=True,
        memory_bytes=lambda run: 2 * memory_bytes(run),
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look for its banner."""
        return cls(file) if file.is_file() and MARK in file.read_bytes() else None

    def start(self, asked: AskedStart) -> ProgramStart:
        """The part is an argument, the place of the panel a variable; it counts its threads itself."""
        own = {"MADEUP_PANEL": str(asked.own["panel"]), "MADEUP_THREADS": str(asked.threads)}
        return ProgramStart(("--split", str(asked.own["split"])), environment=own)

    def parse(self, stdout: str) -> HplOutput:
        """Read its lines."""
        results = tuple(
            HplResult(
                code="madeup",
                N=int(N),
                NB=int(NB),
                P=int(P),
                Q=int(Q),
                time_s=float(time_s),
                gflops=float(rate),
                residual=float(residual),
                passed=word == "good",
            )
            for N, NB, P, Q, time_s, rate, residual, word in _SCORE.findall(stdout)
        )
        return HplOutput(results, (), finished="Bye.\n" in stdout)


def made_up_program(folder: Path, gflops: float = 50.0) -> Path:
    """An executable of the family: fastest where it splits in half, and with its panels on the device."""
    text = f"""#!{sys.executable} -IS
# {MARK.decode()}
import os, sys, time
if int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or 0):
    sys.exit()
lines = [line.split() for line in open("HPL.dat")]
N, NB, P, Q = (int(lines[number][0]) for number in (5, 7, 10, 11))
depth, swap, equil = (int(lines[number][0]) for number in (24, 25, 29))
if (depth, swap, equil) != (1, 1, 0):
    sys.exit(f"made-up HPL refuses DEPTH={{depth}} SWAP={{swap}} EQUIL={{equil}}")
split = float(sys.argv[sys.argv.index("--split") + 1])
rate = {gflops} * (1 - abs(split - 0.5)) * (1.0 if os.environ["MADEUP_PANEL"] == "device" else 0.8)
time_s = (2 / 3 * N**3 + 1.5 * N**2) / rate / 1e9
print("This is made-up HPL.", flush=True)
time.sleep(time_s)
print(f"Score N={{N}} NB={{NB}} grid={{P}}x{{Q}} time={{time_s:.4f}} rate={{rate:.4f}} residual=0.004 good")
print("Bye.")
"""
    return program(folder / "madeup-hpl", text)


def score_of(run: HplParams, gflops: float) -> str:
    """What the program prints of a run."""
    time_s = seconds(run.N, gflops)
    grid = f"{run.P}x{run.Q}"
    return f"Score N={run.N} NB={run.NB} grid={grid} time={time_s:.4f} rate={gflops} residual=0.004 good\nBye.\n"
