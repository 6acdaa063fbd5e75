"""OpenBLAS: from the system, from environment modules, and PyPI's scipy-openblas32."""

from collections.abc import Sequence

from ..search import SearchPaths
from .catalogue import BlasLibrary
from .family import thread_variables
from .places import Found, look

FILES = (
    "openblas-serial/libopenblas.so.0",
    "openblas-pthread/libopenblas.so.0",
    "openblas-openmp/libopenblas.so.0",
    "libopenblas.so.0",
    "libopenblas.so",
    "libopenblasp.so.0",
    "libopenblaso.so.0",
)
KERNELS = (
    ("Prescott", {"pni"}),
    ("Nehalem", {"sse4_2"}),
    ("Sandybridge", {"avx"}),
    ("Haswell", {"avx2", "fma"}),
    ("Zen", {"avx2", "fma"}),
    ("SkylakeX", {"avx512f", "avx512dq", "avx512vl"}),
    ("Cooperlake", {"avx512f", "avx512_bf16"}),
    ("SapphireRapids", {"avx512f", "avx512_bf16"}),
    ("ARMV8", {"asimd"}),
    ("CORTEXA57", {"asimd"}),
    ("CORTEXA72", {"asimd"}),
    ("CORTEXA76", {"asimd", "asimddp"}),
    ("NEOVERSEN1", {"asimd", "asimddp"}),
    ("NEOVERSEV1", {"sve"}),
    ("NEOVERSEN2", {"sve2"}),
    ("A64FX", {"sve"}),
    ("POWER9", {"altivec supported"}),
    ("POWER10", {"altivec supported"}),
)
"""Names of OPENBLAS_CORETYPE (driver/others/dynamic*.c) and the instruction sets each needs."""


class OpenBlas:
    """OpenBLAS chooses its kernel by OPENBLAS_CORETYPE and reports it by openblas_get_corename()."""

    name = "openblas"

    def candidates(self, search: SearchPaths) -> Sequence[Found]:
        """Debian's serial, pthread and OpenMP builds, others' plain names, PyPI's wheel."""
        found = look(search, "openblas", FILES)
        wheel = search.wheel("scipy-openblas32")
        file = wheel / "scipy_openblas32/lib/libscipy_openblas.so" if wheel else None
        if file is not None and file.is_file():
            found.append(Found("openblas-pypi", file.resolve(), "PyPI wheel scipy-openblas32"))
        return found

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002 - all builds alike
        """Kernels of builds with DYNAMIC_ARCH; other builds know one, and probing leaves the rest out."""
        return [kernel for kernel, needs in KERNELS if needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:  # noqa: ARG002
        """Threads, and the kernel unless it is left to OpenBLAS."""
        return thread_variables(threads) | ({} if kernel == "auto" else {"OPENBLAS_CORETYPE": kernel})

    def asked_matches(self, kernel: str, reported: str) -> bool:
        """An unknown name makes OpenBLAS choose by itself, so the names must be the same."""
        return kernel == "auto" or kernel.lower() == reported.lower()
