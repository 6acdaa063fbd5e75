"""Intel's oneMKL, from environment modules or from PyPI's wheel."""

from collections.abc import Sequence

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary, LibraryFile, look
from .family import thread_variables

FILES = ("libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1")
INSTRUCTIONS = (("AVX2", {"avx2", "fma"}), ("AVX512", {"avx512f"}))
"""Values of MKL_ENABLE_INSTRUCTIONS that matter for double precision. Each is an upper limit that MKL obeys on Intel's
CPUs only (oneMKL developer guide); on other CPUs it always uses its kernels "def"."""


class Mkl:
    """MKL's single dynamic library: the kernels it loads are files of their own beside it (libmkl_avx512.so)."""

    name = "mkl"
    copyable = False

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """Look in MKLROOT, the library path, and PyPI's wheel."""
        candidates = look(search, "mkl", FILES, roots=("MKLROOT", "EBROOTIMKL"), module="mkl-sdl")
        wheel = search.wheel("mkl")
        files = sorted(wheel.rglob("libmkl_rt.so*")) if wheel else []
        return [*candidates, *(LibraryFile("mkl", file.resolve(), "PyPI wheel mkl") for file in files)]

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002
        """List the instruction limits that this CPU can reach."""
        return [name for name, needs in INSTRUCTIONS if needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:  # noqa: ARG002
        """Set the threads, the threading layer and the instruction limit.

        LD_LIBRARY_PATH is not set: MKL finds its layers in its own folder, and the wheel's libhwloc in that folder
        would replace the one that Open MPI was built with.
        """
        return thread_variables(threads) | ({} if kernel == "auto" else {"MKL_ENABLE_INSTRUCTIONS": kernel})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Compare with the kernel file that MKL loaded; a report without one contradicts nothing."""
        return kernel == "auto" or not reported or kernel.lower() == reported.lower()
