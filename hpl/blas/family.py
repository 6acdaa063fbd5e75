"""What hpltune must know of a maker of BLAS libraries: where they lie, their kernels, their variables."""

from collections.abc import Sequence
from typing import Protocol

from ..search import SearchPaths
from .catalogue import BlasLibrary
from .places import Found


class BlasFamily(Protocol):
    """One maker. Adding one is one file with such an object, and one line in the registry."""

    @property
    def name(self) -> str:
        """The maker's name in the catalogue."""
        ...

    def candidates(self, search: SearchPaths) -> Sequence[Found]:
        """Files that may be its libraries, those the user set up himself first."""
        ...

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:
        """Names of kernels that a CPU with these instruction sets may be able to run."""
        ...

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Variables that make the library take that kernel and that many threads."""
        ...

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Whether what a library reports is what was asked of it."""
        ...


def thread_variables(threads: int) -> dict[str, str]:
    """The variables by which any BLAS can be told its threads.

    All are set, because a library one did not expect may be behind the name. OMP_PROC_BIND stays unset: TRUE makes an
    OpenMP build of OpenBLAS count one CPU (OpenBLAS #2238).
    """
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "GOTO_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
    return {**dict.fromkeys(names, str(threads)), "MKL_DYNAMIC": "FALSE", "OMP_DYNAMIC": "FALSE"}
