"""Libraries without a choice of kernels: ATLAS, the reference BLAS, and others that the user names."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary, LibraryFile, look
from .family import thread_variables


@dataclass(frozen=True)
class Plain:
    """A maker whose libraries have one kernel, fixed when they are built; `files` are their usual paths."""

    name: str
    files: tuple[str, ...]
    copyable: bool = True

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """Look for the usual files."""
        return look(search, self.name, self.files)

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002
        """Return no kernels: there is nothing to choose."""
        return ()

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:  # noqa: ARG002
        """Set the threads only."""
        return thread_variables(threads)

    def asked_matches(self, kernel: str, reported: str) -> bool:  # noqa: ARG002
        """Accept "auto" only."""
        return kernel == "auto"


ATLAS = Plain(
    "atlas", ("atlas/libblas.so.3", "atlas/libsatlas.so.3", "atlas/libtatlas.so.3", "libsatlas.so", "libtatlas.so")
)
REFERENCE = Plain("reference", ("blas/libblas.so.3",))
OTHER = Plain("other", ())
