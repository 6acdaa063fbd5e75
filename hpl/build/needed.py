"""Lists the shared libraries that a program needs: those of its BLAS, to be copied to another machine, and its MPI."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..blas.catalogue import BlasLibrary
from ..blas.registry import family
from .link import needed_names
from .toolchain import ToolchainError

_EVERYWHERE = re.compile(r"(ld-|linux-|lib(c|m|mvec|dl|rt|pthread|util|resolv)\.so).*")
"""The C library, which fits only its own loader, and which every system has."""

_SAYS = {"intelmpi": b"Intel(R) MPI Library", "openmpi": b"Open MPI v", "mpich": b"MPICH Version"}
"""What the files of MPI libraries hold; Intel's is an MPICH, too."""
_NAMES = {"libmpich": "mpich", "libmpi.so.40": "openmpi", "libmpi.so.20": "openmpi"}
"""Beginnings of names that only one library has."""


def libraries_of(program: Path, blas: BlasLibrary, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the file of a BLAS and those libraries of it that some systems lack, as the loader finds them here.

    A BLAS that opens further files gives none: only where it is installed does it find them.

    Args:
        program: a program that is linked with the BLAS.
        variables: all that the program runs with.

    Raises:
        ToolchainError: `ldd` does not run, or the program cannot be loaded.
    """
    if not family(blas.family).copyable:
        return ()
    command = ("ldd", str(program))
    try:
        said = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"the libraries of {program} cannot be listed: {error}") from error
    found = dict(re.findall(r"^\s*(\S+) => (/.*) \(0x", said.stdout, re.MULTILINE))
    return (blas.path, *_beneath(blas.path, found, set()))


def linked_mpi(program: Path) -> str | None:
    """Return the name of the MPI library that a program is linked with; None for a script and where it cannot be told.

    The file of the library says it: Open MPI, MPICH and Intel MPI all have a libmpi.so. If the loader does not find the
    file here, its name must do.
    """
    for name, place in _loaded(program):
        found = _named(name) if place == "not found" else _mpi_in(Path(place))
        if found:
            return found
    return None


def mpi_library(program: Path) -> Path | None:
    """Return the file of the MPI library that the loader finds here for a program; None where it finds none."""
    return next((Path(place) for _, place in _loaded(program) if place != "not found" and _mpi_in(Path(place))), None)


def _loaded(program: Path) -> list[tuple[str, str]]:
    """Return the names of libraries that may be MPI's, and the file that the loader finds here, or "not found"."""
    try:
        said = subprocess.run(("ldd", str(program)), capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"^\s*(libmpi\S*\.so\S*) => (/.*(?= \(0x)|not found)", said, re.MULTILINE)


def _mpi_in(library: Path) -> str | None:
    with suppress(OSError):
        content = library.read_bytes()
        return next((name for name, words in _SAYS.items() if words in content), None)
    return None


def _named(library: str) -> str | None:
    return next((name for start, name in _NAMES.items() if library.startswith(start)), None)


def _beneath(library: Path, found: Mapping[str, str], seen: set[str]) -> Iterator[Path]:
    for name in needed_names(library):
        if name in seen or name not in found or _EVERYWHERE.fullmatch(name):
            continue
        seen.add(name)
        yield Path(found[name])
        yield from _beneath(Path(found[name]), found, seen)
