"""AMD Zen HPL: AMD's own `xhpl` for EPYC, with the kernels of Zen 4 and 5 inside.

Sources: AMD's README of amd-zen-hpl-2022_11 to 2024_10_08 and guides of clouds that ran it: one rank on each socket or
L3 cache, OMP_PROC_BIND=close, OMP_PLACES=cores, BLIS_ARCH_TYPE, NB = 384. Its output is read from captures of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..output import HplOutput
from ..witness import RankReport
from .family import AskedLibrary, AskedStart, ProgramStart, netlibs_code
from .terms import OwnParameter, Terms
from .yours import ProgramFile, holds

BANNER = b"AMD Zen HPL"
FOLDER = "amd-zen-hpl"


@dataclass(frozen=True)
class AmdZenHpl(ProgramFile):
    """A program that says so in its banner, or lies in a folder that has the name of AMD's archive."""

    name: ClassVar[str] = "amd-zen"
    needs: ClassVar[str] = "AMD's archive amd-zen-hpl-…, whose licence you accept, Open MPI, and a Zen 4 or 5"
    places: ClassVar[tuple[str, ...]] = (
        "/opt/amd-zen-hpl-*/xhpl",
        "/opt/AMD/amd-zen-hpl-*/xhpl",
        "~/amd-zen-hpl-*/xhpl",
    )
    terms: ClassVar[Terms] = Terms(
        own=(OwnParameter("arch", ("auto", "zen4", "zen3"), "auto"),),
        bcasts=("bc7",),
        usual_nb=384,
        ranks_on_node=lambda node: node.shared(node.sockets, node.l3_caches),
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at the names of its folders, and for its banner."""
        in_archive = any(part.startswith(FOLDER) for part in file.absolute().parent.parts)
        return cls(file) if in_archive or holds(file, BANNER) else None

    def start(self, asked: AskedStart) -> ProgramStart:
        """Keep its threads on neighbouring cores; `arch` overrules which kernels it chooses by itself."""
        arch = {} if asked.own["arch"] == "auto" else {"BLIS_ARCH_TYPE": str(asked.own["arch"])}
        places = {"OMP_NUM_THREADS": str(asked.threads), "OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
        return ProgramStart(environment={**places, **arch})

    def unproven(self, asked: AskedLibrary, reports: Sequence[RankReport], found: HplOutput) -> str | None:
        """Look at the codes of its results, which no other program prints."""
        if code := netlibs_code(found):
            return f"it printed {code}, a code of netlib's HPL: so this is not AMD Zen HPL"
        return super().unproven(asked, reports, found)
