"""Intel's oneMKL: loaded by environment modules, or PyPI's wheel."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..search import SearchPaths
from .catalogue import BlasLibrary
from .family import thread_variables
from .places import Found, look

FILES = ("libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2")
INSTRUCTIONS = (("AVX2", {"avx2", "fma"}), ("AVX512", {"avx512f"}))
"""Values of MKL_ENABLE_INSTRUCTIONS that differ for double precision; each is an upper limit, not a choice."""


class Mkl:
    """MKL's single dynamic library takes its threading layer and an upper limit of instructions from variables."""

    name = "mkl"

    def candidates(self, search: SearchPaths) -> Sequence[Found]:
        """The library of MKLROOT, of the library path, and of PyPI's wheel."""
        found = look(search, "mkl", FILES)
        roots = [(Path(os.environ["MKLROOT"]), "MKLROOT")] if os.environ.get("MKLROOT") else []
        wheel = search.wheel("mkl")
        if wheel is not None:
            roots.append((wheel, "PyPI wheel mkl"))
        for root, origin in roots:
            files = [root / folder / name for folder in ("lib", "lib/intel64") for name in FILES]
            found += [Found("mkl", file.resolve(), origin) for file in files if file.is_file()]
        return found

    def kernels(self, flags: frozenset[str], library: BlasLibrary) -> Sequence[str]:  # noqa: ARG002
        """Limits this CPU does not already have."""
        return [name for name, needs in INSTRUCTIONS if needs <= flags]

    def environment(self, kernel: str, threads: int, library: BlasLibrary | None) -> dict[str, str]:
        """Threading layer, threads, the limit, and where the layers of a wheel lie."""
        layer = "SEQUENTIAL" if threads == 1 else "GNU"
        variables = thread_variables(threads) | {"MKL_THREADING_LAYER": layer, "MKL_INTERFACE_LAYER": "LP64"}
        if kernel != "auto":
            variables["MKL_ENABLE_INSTRUCTIONS"] = kernel
        if library is not None:
            inherited = os.environ.get("LD_LIBRARY_PATH", "")
            variables["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(library.path.parent), inherited]))
        return variables

    def asked_matches(self, kernel: str, reported: str) -> bool:  # noqa: ARG002
        """A limit cannot be seen in what MKL says of itself."""
        return True
