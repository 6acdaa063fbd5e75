"""Finds out what `tune` needs and this machine lacks."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpl.blas.registry import discover
from hpl.build.toolchain import Mpi, compiler_version, find_mpis
from hpl.errors import HplError
from hpl.search_paths import SearchPaths

from ..user_dirs import UserDirs

FAST = ("openblas", "blis", "mkl", "atlas")
COMPILERS = ("cc", "gcc", "clang")


@dataclass(frozen=True)
class Needs:
    """What is missing.

    Attributes:
        compiler: nothing here compiles C: neither what mpicc calls, nor a compiler on PATH or in the private prefix.
        mpi: no mpicc, mpi.h and mpirun.
        blas: no library that is worth tuning with.
    """

    compiler: bool
    mpi: bool
    blas: bool

    def __bool__(self) -> bool:
        return bool(self.names)

    def __str__(self) -> str:
        return ", ".join(self.names) or "nothing"

    @property
    def names(self) -> tuple[str, ...]:
        """The missing parts, in the user's words."""
        parts = {"a C compiler": self.compiler, "MPI": self.mpi, "a fast BLAS": self.blas}
        return tuple(name for name, missing in parts.items() if missing)


def needs(
    user_dirs: UserDirs,
    blas_files: Mapping[str, Path] | None = None,
    *,
    program: bool = False,
    system: Path = Path("/"),
) -> Needs:
    """Look for what a study needs.

    Args:
        blas_files: libraries the user named.
        program: the user brings a built xhpl, so that only MPI is needed.
        system: the root of the system's own folders.
    """
    search = SearchPaths(user_dirs.prefix, user_dirs.cache, system)
    try:
        mpi = find_mpis(search, building=not program)[0]
    except HplError:
        mpi = None
    if program:
        return Needs(compiler=False, mpi=mpi is None, blas=False)
    blas = bool(blas_files) or _fast_blas(search)
    return Needs(compiler=not _compiler(mpi, user_dirs), mpi=mpi is None, blas=not blas)


def _compiler(mpi: Mpi | None, user_dirs: UserDirs) -> bool:
    """Whether C can be compiled: what mpicc calls counts, because a cluster's own compiler need not be called cc."""
    if mpi is not None:
        try:
            compiler_version(mpi)
        except HplError:
            return False
        return True
    return any(shutil.which(name) for name in COMPILERS) or _works(user_dirs.compiler)


def _works(compiler: Path) -> bool:
    try:
        return subprocess.run([str(compiler), "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _fast_blas(search: SearchPaths) -> bool:
    try:
        return any(entry.family in FAST for entry in discover(search, {}))
    except HplError:
        return False
