"""NVIDIA HPL, from its container of HPC benchmarks: a rank on each GPU, started through `hpl.sh`.

Sources: docs.nvidia.com, "NVIDIA HPC Benchmarks" (options of `hpl.sh`, variables and their defaults); notes of an
operator of version 21.4 (which lines of HPL.dat it demands and ignores). Its output is read from captures of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..output import HplOutput
from ..params import Scalar
from ..witness import RankReport
from .family import AskedLibrary, AskedStart, ProgramStart, UserProgramError, netlibs_code
from .terms import OWN, OwnParameter, OwnRule, Terms, one_a_gpu
from .yours import ProgramFile, beginning, holds

WRAPPERS = ("hpl.sh", "hpl-aarch64.sh")
OPTION = "--gpu-affinity"
MARKS = (b"HPL_P2P_AS_BCAST", b"HPL_FCT_COMM_POLICY")
AFFINITY = "affinity"
NEEDS_NVSHMEM: Mapping[str, Scalar] = {"fct_comm_policy": 0, "p2p_as_bcast": 4, "nvshmem_swap": 1}


def nvshmem_is_on(point: Mapping[str, Scalar], _ranks: int) -> str | None:
    """Require NVSHMEM where a value uses it."""
    if point.get(f"{OWN}use_nvshmem", 1) == 1:
        return None
    for name, value in NEEDS_NVSHMEM.items():
        if point.get(OWN + name) == value:
            return f"{OWN}{name} = {value} sends with NVSHMEM, which {OWN}use_nvshmem = 0 turns off: choose one of them"
    return None


def near_gpus(asked: AskedStart) -> tuple[str, ...]:
    """Return the options that give each rank of a node its GPU, and the cores and the memory near it."""
    gpus = asked.node.gpus[: asked.ranks_on_node]
    lists = {OPTION: [str(number) for number in range(asked.ranks_on_node)]}
    if asked.own[AFFINITY] == "near" and gpus and all(gpu.cpus and gpu.numa_node is not None for gpu in gpus):
        lists |= {
            "--cpu-affinity": [gpu.cpus for gpu in gpus],
            "--mem-affinity": [str(gpu.numa_node) for gpu in gpus],
        }
    return tuple(word for name, values in lists.items() for word in (name, ":".join(values)))


@dataclass(frozen=True)
class NvidiaHpl(ProgramFile):
    """The script that gives each rank its GPU, its cores and its memory."""

    name: ClassVar[str] = "nvidia"
    gpus_of: ClassVar[str] = "NVIDIA"
    needs: ClassVar[str] = "NVIDIA's container of HPC benchmarks, whose licence you accept, and a GPU of NVIDIA"
    places: ClassVar[tuple[str, ...]] = ("hpl.sh", "/workspace/hpl.sh")
    terms: ClassVar[Terms] = Terms(
        ignores={"DEPTH": 1, "SWAP": "mix", "swap_threshold": 64},
        takes={"L1": ("notransposed",), "U": ("transposed",), "binding": ("none",)},
        own=(
            OwnParameter("p2p_as_bcast", (1, 0, 2, 3, 4), 1),
            OwnParameter("use_nvshmem", (1, 0), 1),
            OwnParameter("fct_comm_policy", (1, 0), 1),
            OwnParameter("nvshmem_swap", (0, 1), 0),
            OwnParameter("chunk_size_nbs", (16, 8, 32), 16, (1, 1024)),
            OwnParameter("dist_trsm_flag", (1, 0), 1),
            OwnParameter("cta_per_fct", (16, 8, 32), 16, (1, 1024)),
            OwnParameter("alloc_hugepages", (0, 1), 0),
            OwnParameter(AFFINITY, ("near", "any"), "near"),
        ),
        rules=(OwnRule("nvshmem_is_on", tuple(OWN + n for n in (*NEEDS_NVSHMEM, "use_nvshmem")), nvshmem_is_on),),
        usual_nb=1024,
        ranks_on_node=one_a_gpu,
        no_other_ranks=True,
    )

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Look at its name and for its options.

        Raises:
            UserProgramError: it is the program without the script, or the script without the program.
        """
        if holds(file, *MARKS) and not beginning(file).startswith("#!"):
            needs = "each rank of NVIDIA's program needs its GPU: name hpl.sh, which gives it"
            raise UserProgramError(needs, field="xhpl", given=file)
        if file.name not in WRAPPERS or OPTION not in beginning(file):
            return None
        if not any(file.resolve().parent.glob("**/xhpl*")):
            lacks = "this is NVIDIA's script, and no xhpl lies below its folder: give the one in the container"
            raise UserProgramError(lacks, field="xhpl", given=file)
        return cls(file)

    def start(self, asked: AskedStart) -> ProgramStart:
        """Give each rank of a node its GPU, and the cores and the memory near it; all else is in variables."""
        own = {f"HPL_{name.upper()}": str(value) for name, value in asked.own.items() if name != AFFINITY}
        return ProgramStart(("--dat", "HPL.dat", *near_gpus(asked)), environment=own)

    def unproven(self, asked: AskedLibrary, reports: Sequence[RankReport], found: HplOutput) -> str | None:
        """Look at the codes of its results, which are shorter than netlib's."""
        if code := netlibs_code(found):
            return f"it printed {code}, a code of netlib's HPL: so this is not NVIDIA HPL"
        return super().unproven(asked, reports, found)
