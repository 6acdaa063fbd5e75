"""Intel Distribution for LINPACK, the `mp_linpack` in oneMKL: netlib's HPL 2.3 with Intel's own arithmetic.

Sources: oneMKL's Developer Guide for Linux 2023-0 to 2026-0, "Environment Variables" (HPL_LARGEPAGE, HPL_HOST_NODE) and
"Configuring Parameters" (NB); its HPL.dat has BCAST 6 and 7 besides netlib's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from .family import LOCAL_RANK, AskedStart, ProgramStart, UserProgramError, with_variable
from .terms import OwnParameter, Terms
from .yours import ProgramFile, holds

NAME = "xhpl_intel64"
SCRIPT = "runme_intel64"
MARKS = (b"HPL_LARGEPAGE", b"HPL_HOST_NODE")
"""Variables that only this program reads, so that their names are in it."""


@dataclass(frozen=True)
class IntelHpl(ProgramFile):
    """A program that has Intel's name, or reads Intel's variables."""

    name: ClassVar[str] = "intel-mp"
    terms: ClassVar[Terms] = Terms(
        own=(OwnParameter("largepage", (0, 1), 0), OwnParameter("host_node", ("auto", "rank"), "auto")),
        bcasts=("bc6", "bc7"),
        usual_nb=384,
        ranks_on_node=lambda node: node.shared(node.sockets, node.numa_nodes, 1),
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name, and for Intel's variables.

        Raises:
            UserProgramError: it is Intel's script that calls mpirun itself.
        """
        if file.name.startswith(SCRIPT):
            program = f"{NAME}{file.name.removeprefix(SCRIPT).replace('_prv', '_dynamic')}"
            raise UserProgramError(
                f"this script of Intel's starts MPI by itself: name {program} beside it", field="xhpl", given=file
            )
        return cls(file) if file.name.startswith(NAME) or holds(file, *MARKS) else None

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give it large pages, and each rank its NUMA nodes where it shall not look for them itself."""
        each = max(1, asked.node.numa_nodes // asked.ranks_on_node)
        nodes = f"$(seq -s, $(({LOCAL_RANK} * {each})) $(({LOCAL_RANK} * {each} + {each - 1})))"
        before = with_variable("HPL_HOST_NODE", nodes) if asked.own["host_node"] == "rank" else ()
        return ProgramStart(before=before, environment={"HPL_LARGEPAGE": str(asked.own["largepage"])})
