"""OpenBLAS, from the system, from environment modules or from PyPI's wheel scipy-openblas32."""

from collections.abc import Sequence

from ..search_paths import SearchPaths
from .catalogue import BlasLibrary, LibraryFile, look
from .family import thread_variables

FILES = (
    "openblas-serial/libopenblas.so.0",
    "openblas-pthread/libopenblas.so.0",
    "openblas-openmp/libopenblas.so.0",
    "libopenblas.so.0",
    "libopenblas.so",
    "libopenblasp.so.0",
    "libopenblaso.so.0",
)
"""Debian has its three builds in separate folders; Fedora calls them libopenblas, libopenblasp and libopenblaso."""
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
KERNELS = (
    ("SapphireRapids", AVX512 | {"avx512_bf16", "avx512_fp16"}),
    ("Cooperlake", AVX512 | {"avx512_bf16"}),
    ("SkylakeX", AVX512),
    ("Zen", {"avx2", "fma"}),
    ("Haswell", {"avx2", "fma"}),
    ("Excavator", {"avx2", "fma4"}),
    ("Piledriver", {"avx", "fma4"}),
    ("Sandybridge", {"avx"}),
    ("Nehalem", {"sse4_2"}),
    ("Prescott", {"pni"}),
    ("A64FX", {"sve"}),
    ("NEOVERSEV1", {"sve"}),
    ("NEOVERSEN2", {"sve2"}),
    ("ARMV8SVE", {"sve"}),
    ("NEOVERSEN1", {"asimd", "asimddp"}),
    ("CORTEXA76", {"asimd", "asimddp"}),
    ("THUNDERX2T99", {"asimd", "atomics"}),
    ("CORTEXA72", {"asimd"}),
    ("CORTEXA57", {"asimd"}),
    ("CORTEXA53", {"asimd"}),
    ("ARMV8", {"asimd"}),
    ("POWER10", {"altivec supported"}),
    ("POWER9", {"altivec supported"}),
    ("POWER8", {"altivec supported"}),
)
"""Values of OPENBLAS_CORETYPE (driver/others/dynamic*.c) and the instruction sets that each needs."""

PYPI = "openblas-pypi"
"""Catalogue name of PyPI's build, which is newer than those of distributions."""


class OpenBlas:
    """OpenBLAS: OPENBLAS_CORETYPE chooses its kernel, and openblas_get_corename() reports it."""

    name = "openblas"
    copyable = True

    def candidates(self, search: SearchPaths) -> Sequence[LibraryFile]:
        """Look for Debian's serial, pthread and OpenMP builds, plain file names, and PyPI's wheel."""
        roots = ("OPENBLAS_ROOT", "OPENBLAS_HOME", "OPENBLAS_DIR", "EBROOTOPENBLAS")
        candidates = look(search, "openblas", FILES, roots=roots, module="openblas")
        wheel = search.wheel("scipy-openblas32")
        files = sorted(wheel.rglob("libscipy_openblas.so")) if wheel else []
        return [*candidates, *(LibraryFile(PYPI, file.resolve(), "PyPI wheel scipy-openblas32") for file in files)]

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002 - all builds alike
        """List kernels of builds with DYNAMIC_ARCH; probing drops names that a build does not know and replaces."""
        return [kernel for kernel, needs in KERNELS if needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:  # noqa: ARG002
        """Set the threads, and the kernel unless OpenBLAS chooses."""
        return thread_variables(threads) | ({} if kernel == "auto" else {"OPENBLAS_CORETYPE": kernel})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """Compare the names, because OpenBLAS chooses by itself when it does not know a name."""
        return kernel == "auto" or kernel.lower() == reported.lower()
