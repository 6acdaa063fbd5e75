"""Intel's oneMKL: loaded by environment modules, or PyPI's wheel."""

from collections.abc import Sequence

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary
from .family import thread_variables
from .places import LibraryFile, look

FILES = ("libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1")
INSTRUCTIONS = (("AVX2", {"avx2", "fma"}), ("AVX512", {"avx512f"}))
"""Values of MKL_ENABLE_INSTRUCTIONS that differ for double precision. Each is an upper limit that MKL heeds on Intel's
CPUs only (oneMKL developer guide); on others it takes the kernels it calls "def", whatever is asked."""


class Mkl:
    """MKL's single dynamic library: the kernels it loads are files of their own beside it (libmkl_avx512.so)."""

    name = "mkl"

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """The library of MKLROOT, of the library path, and of PyPI's wheel."""
        found = look(search, "mkl", FILES, roots=("MKLROOT", "EBROOTIMKL"), module="mkl-sdl")
        wheel = search.wheel("mkl")
        files = sorted(wheel.rglob("libmkl_rt.so*")) if wheel else []
        return [*found, *(LibraryFile("mkl", file.resolve(), "PyPI wheel mkl") for file in files)]

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002
        """Limits this CPU does not already have."""
        return [name for name, needs in INSTRUCTIONS if needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:  # noqa: ARG002
        """Threads and threading layer, and the limit of instructions.

        No LD_LIBRARY_PATH: MKL finds its layers beside itself, and the wheel's libhwloc beside them would replace the
        one Open MPI was built with.
        """
        return thread_variables(threads) | ({} if kernel == "auto" else {"MKL_ENABLE_INSTRUCTIONS": kernel})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """The file of kernels that MKL loaded; a report without one cannot contradict."""
        return kernel == "auto" or not reported or kernel.lower() == reported.lower()
