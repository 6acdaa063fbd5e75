"""What `tune` needs and this machine lacks."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpl.blas.registry import discover
from hpl.errors import HplError
from hpl.search import SearchPaths
from hpl.toolchain import find_mpis

from ..places import Places

FAST = ("openblas", "blis", "mkl", "atlas")


@dataclass(frozen=True)
class Needs:
    """What is missing.

    Attributes:
        compiler: no C compiler is on PATH or in the private prefix.
        mpi: no mpicc and mpirun.
        blas: no library that is worth tuning with.
    """

    compiler: bool
    mpi: bool
    blas: bool

    def __bool__(self) -> bool:
        return self.compiler or self.mpi or self.blas

    def __str__(self) -> str:
        names = {"a C compiler": self.compiler, "MPI": self.mpi, "a fast BLAS": self.blas}
        return ", ".join(name for name, missing in names.items() if missing) or "nothing"


def needs(places: Places, blas_files: Mapping[str, Path] | None = None, *, program: bool = False) -> Needs:
    """Look for what a study needs.

    Args:
        blas_files: libraries the user named.
        program: the user brings a built xhpl, so that only MPI is needed.
    """
    search = SearchPaths(places.prefix, places.cache)
    try:
        mpi = not find_mpis(search)
    except HplError:
        mpi = True
    if program:
        return Needs(compiler=False, mpi=mpi, blas=False)
    return Needs(compiler=not _compiler(places), mpi=mpi, blas=not blas_files and not _fast_blas(search))


def _compiler(places: Places) -> bool:
    own = places.private_prefix / "bin/cc"
    return own.exists() or any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def _fast_blas(search: SearchPaths) -> bool:
    try:
        return any(entry.family in FAST for entry in discover(search, {}))
    except HplError:
        return False
