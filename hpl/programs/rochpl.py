"""rocHPL: AMD's HPL for its GPUs, with a rank on each GPU.

Source: ROCm/rocHPL, `HPL_pdinfo.cpp` (arguments, what it refuses of HPL.dat, the node-local grid), `run_rochpl.in`
(which cores each rank gets) and `HPL_pdtest.cpp` (its output is netlib's).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..params import Scalar, parse_grid
from .family import AskedStart, ProgramStart, UserProgramError
from .terms import OWN, OwnParameter, OwnRule, Terms, one_a_gpu
from .yours import ProgramFile, beginning, holds

PROGRAM = "rochpl"
MARK = b"rocHPL client command line options"
AUTO = "auto"
LOCAL_GRID = "local_grid"
LOCAL_GRIDS = (AUTO, *(f"{p}x{q}" for p, q in ((1, 2), (2, 1), (1, 4), (2, 2), (4, 1), (1, 8), (2, 4), (4, 2), (8, 1))))


def installed(file: Path, program: str, title: str) -> bool:
    """Return whether a file has the name of a program of AMD's, or of the script that starts each rank of it.

    Raises:
        UserProgramError: it is the script that starts MPI itself, or a script whose program is not there.
    """
    wrapper = f"run_{program}"
    if file.name == f"mpirun_{program}":
        other = f"this script starts MPI by itself: name {wrapper} beside it"
        raise UserProgramError(other, field="xhpl", given=file)
    if file.name == wrapper:
        started = re.search(rf"^{program}_bin=(\S+)$", beginning(file), re.MULTILINE)
        if started is not None and not Path(started[1]).is_file():
            gone = f"its program {started[1]} is not there: install {title} where this script was installed from"
            raise UserProgramError(gone, field="xhpl", given=file)
    return file.name in {program, wrapper}


def local_grid(value: Scalar, grid: Scalar, ranks: int) -> tuple[int, int]:
    """Return rows and columns of the ranks on one node; "auto" is as `run_rochpl` chooses."""
    if value != AUTO:
        return parse_grid(str(value))
    q = min(parse_grid(str(grid))[1], ranks)
    return ranks // q, q


def fits_nodes(point: Mapping[str, Scalar], ranks: int) -> str | None:
    """Require that the grid of a node's ranks has all of them and divides the grid of all ranks."""
    (P, Q), value = parse_grid(str(point["grid"])), point.get(OWN + LOCAL_GRID, AUTO)
    p, q = local_grid(value, point["grid"], ranks)
    if p * q == ranks and P % p == 0 and Q % q == 0:
        return None
    asked = f"{OWN}{LOCAL_GRID} = {value}" + (f" ({p}x{q})" if value == AUTO else "")
    return f"{asked} does not divide the grid {P}x{Q} over nodes with {ranks} ranks each: rocHPL refuses it"


@dataclass(frozen=True)
class RocHpl(ProgramFile):
    """The program, or the script `run_rochpl` that gives each rank its cores."""

    name: ClassVar[str] = "rochpl"
    gpus_of: ClassVar[str] = "AMD"
    needs: ClassVar[str] = "rocHPL, which is built with ROCm, and a GPU of AMD"
    places: ClassVar[tuple[str, ...]] = ("run_rochpl", "/opt/rochpl/bin/run_rochpl", "~/rocHPL/rocHPL/run_rochpl")
    terms: ClassVar[Terms] = Terms(
        takes={"DEPTH": (1,), "SWAP": ("long",), "U": ("transposed",), "EQUIL": ("no",), "binding": ("none", "core")},
        own=(
            OwnParameter("split", (0.3, 0.5, 0.6, 0.7), 0.3, (0.0, 1.0)),
            OwnParameter(LOCAL_GRID, LOCAL_GRIDS, AUTO),
        ),
        rules=(OwnRule("local_grid_fits_nodes", (OWN + LOCAL_GRID, "grid", "layout"), fits_nodes),),
        usual_nb=384,
        ranks_on_node=one_a_gpu,
        no_other_ranks=True,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name, and for its help.

        Raises:
            UserProgramError: it is the script that starts MPI itself, or a script whose program is not there.
        """
        return cls(file) if installed(file, PROGRAM, "rocHPL") or holds(file, MARK) else None

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give it its grids and its split; all else is read from HPL.dat."""
        run = asked.runs[0]
        p, q = local_grid(asked.own[LOCAL_GRID], f"{run.P}x{run.Q}", asked.ranks_on_node)
        grids = {"-P": run.P, "-Q": run.Q, "-p": p, "-q": q, "-f": asked.own["split"]}
        words = [word for name, value in grids.items() for word in (name, str(value))]
        return ProgramStart((*words, "-i", "HPL.dat"))
