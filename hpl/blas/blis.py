"""BLIS, upstream's and AMD's."""

from collections.abc import Sequence

from ..search import SearchPaths
from .catalogue import BlasLibrary
from .family import thread_variables
from .places import Found, look

FILES = (
    "blis-serial/libblis.so.4",
    "blis-openmp/libblis.so.4",
    "blis-pthread/libblis.so.4",
    "libblis.so.4",
    "libblis.so",
    "libblis-mt.so",
)
NEEDS = {
    "generic": set[str](),
    "penryn": {"ssse3"},
    "sandybridge": {"avx"},
    "haswell": {"avx2", "fma"},
    "zen": {"avx2", "fma"},
    "zen2": {"avx2", "fma"},
    "zen3": {"avx2", "fma"},
    "zen4": {"avx512f"},
    "skx": {"avx512f", "avx512dq", "avx512vl"},
    "cortexa53": {"asimd"},
    "cortexa57": {"asimd"},
    "thunderx2": {"asimd"},
    "firestorm": {"asimd"},
    "altra": {"asimd"},
    "armsve": {"sve"},
    "a64fx": {"sve"},
    "power9": {"altivec supported"},
    "power10": {"altivec supported"},
}
"""Sub-configurations of BLIS and the instruction sets each needs (config_registry)."""


class Blis:
    """BLIS chooses its kernels by BLIS_ARCH_TYPE; the numbers differ between versions and are asked of the library."""

    name = "blis"

    def candidates(self, search: SearchPaths) -> Sequence[Found]:
        """Debian's serial, OpenMP and pthread builds, and the plain names of others."""
        return look(search, "blis", FILES)

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:
        """Sub-configurations the library knows; those it was built without abort, and probing leaves them out."""
        known = dict(library.kernel_ids)
        return [kernel for kernel, needs in NEEDS.items() if kernel in known and needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Threads, and the kernel's number unless it is left to BLIS."""
        ids = dict(library.kernel_ids) if library else {}
        return thread_variables(threads) | ({"BLIS_ARCH_TYPE": str(ids[kernel])} if kernel in ids else {})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """The name of the sub-configuration."""
        return kernel in {"auto", reported}
