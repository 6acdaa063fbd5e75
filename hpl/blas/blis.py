"""BLIS, upstream's and AMD's."""

from collections.abc import Sequence

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary, LibraryFile, look
from .family import thread_variables

FILES = (
    "blis-serial/libblis.so.4",
    "blis-openmp/libblis.so.4",
    "blis-pthread/libblis.so.4",
    "libblis.so.4",
    "libblis.so",
    "libblis-mt.so",
)
NEEDS = {
    "skx": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
    "zen5": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16"},
    "zen4": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16"},
    "zen3": {"avx2", "fma"},
    "zen2": {"avx2", "fma"},
    "zen": {"avx2", "fma"},
    "haswell": {"avx2", "fma"},
    "excavator": {"avx2", "fma4"},
    "piledriver": {"avx", "fma4"},
    "sandybridge": {"avx"},
    "penryn": {"ssse3"},
    "a64fx": {"sve"},
    "armsve": {"sve"},
    "altramax": {"asimd", "asimddp"},
    "altra": {"asimd", "asimddp"},
    "firestorm": {"asimd"},
    "thunderx2": {"asimd"},
    "cortexa57": {"asimd"},
    "cortexa53": {"asimd"},
    "power10": {"altivec supported"},
    "power9": {"altivec supported"},
    "generic": set[str](),
}
"""Sub-configurations of BLIS and the instruction sets that each needs (config_registry), the widest first."""


class Blis:
    """BLIS: the number in BLIS_ARCH_TYPE chooses its kernels; the library tells its numbers, as they differ by version.

    Names are not safe: BLIS 0.9.0 reads every word as the number 0, which is skx.
    """

    name = "blis"
    copyable = True

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """Look for Debian's serial, OpenMP and pthread builds, and for plain file names."""
        roots = ("BLIS_ROOT", "BLIS_HOME", "BLIS_DIR", "AOCL_ROOT", "EBROOTBLIS")
        return look(search, "blis", FILES, roots=roots, module="blis")

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:
        """List sub-configurations that the library knows; probing drops those that were not built, which abort."""
        known = dict(library.kernel_ids)
        return [kernel for kernel, needs in NEEDS.items() if kernel in known and needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Set the threads, and the kernel's number unless BLIS chooses."""
        ids = dict(library.kernel_ids) if library else {}
        return thread_variables(threads) | ({"BLIS_ARCH_TYPE": str(ids[kernel])} if kernel in ids else {})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Compare the names of the sub-configurations."""
        return kernel in {"auto", reported}
