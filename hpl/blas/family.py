"""The interface of a maker of BLAS libraries: their files, kernels and variables."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary, LibraryFile

PREFIXES = ("OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "GOMP_", "KMP_", "HPLTUNE_STOP_AT")


class BlasFamily(Protocol):
    """A maker of BLAS libraries. A new maker is one file with such an object, and one line in the registry."""

    @property
    def name(self) -> str:
        """The maker's name in the catalogue."""
        ...

    @property
    def copyable(self) -> bool:
        """Whether a copy of the file works anywhere, because it opens no further files beside it."""
        ...

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """List files that may be its libraries, those that the user set up first."""
        ...

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:
        """List the kernels that a CPU with these instruction sets can probably run."""
        ...

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Return the variables that make the library use this kernel and this number of threads."""
        ...

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Return whether a library reports the kernel that was asked for."""
        ...


def thread_variables(threads: int) -> dict[str, str]:
    """Return the variables that set the number of threads of any BLAS.

    All are set, because the name may stand for an unexpected library. OMP_PROC_BIND stays unset: with TRUE an OpenMP
    build of OpenBLAS counts only one CPU (OpenBLAS #2238). MKL's single dynamic library also reads its threading layer
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
    """Return inherited variables that would change kernel, blocking, threads, binding or the end of a run.

    For example, if a shell sets OPENBLAS_CORETYPE=Haswell, the kernel "auto" is Haswell, not OpenBLAS' own choice.
    The last two of the names that are left out are set by threadpoolctl when it is imported.
    """
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIXES)
        and not name.endswith(("_ROOT", "_HOME", "_DIR", "_DUPLICATE_LIB_OK", "_INIT_AT_FORK"))
    }
