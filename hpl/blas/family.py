"""What hpltune must know of a maker of BLAS libraries: where they lie, their kernels, their variables."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary
from .places import LibraryFile

PREFIXES = ("OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "GOMP_", "KMP_", "HPLTUNE_STOP_AT")


class BlasFamily(Protocol):
    """One maker. Adding one is one file with such an object, and one line in the registry."""

    @property
    def name(self) -> str:
        """The maker's name in the catalogue."""
        ...

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
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
    OpenMP build of OpenBLAS count one CPU (OpenBLAS #2238). MKL's single dynamic library also takes its threading layer
    and the size of its integers from variables.
    """
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "GOTO_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
    return {
        **dict.fromkeys(names, str(threads)),
        "MKL_DYNAMIC": "FALSE",
        "OMP_DYNAMIC": "FALSE",
        "MKL_THREADING_LAYER": "SEQUENTIAL" if threads == 1 else "GNU",
        "MKL_INTERFACE_LAYER": "LP64",
    }


def inherited_choices(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables of an environment that choose kernel, blocking, threads, binding or a run's end behind hpltune's back.

    With OPENBLAS_CORETYPE=Haswell left over in a shell, the kernel "auto" is Haswell and not OpenBLAS' own choice.
    """
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIXES) and not name.endswith(("_ROOT", "_HOME", "_DIR"))
    }
