"""Links a program so that exactly one BLAS file is mapped at run time.

A program that only names a library may get another file: Debian's libopenblas.so.0 and libblas.so.3 are links of
update-alternatives, and modules set LD_LIBRARY_PATH. DT_RPATH has priority over both.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..blas.catalogue import BlasLibrary, library_folders
from ..blas.registry import family
from ..child import run_child
from ..search_paths import SearchPaths
from .toolchain import ToolchainError

LIBRARIES = "lib"


def link_arguments(library: BlasLibrary, search: SearchPaths, folder: Path, final: Path) -> list[str]:
    """Return linker arguments that bind the program to this library file.

    The program first looks in `folder`/lib, so a link there, named by the library's SONAME, points to the file. If the
    library's folder already has such a link, that one is used instead, because libraries that find their companions
    through $ORIGIN must be opened in their own folder. For a library of the private prefix the prefix's other folders
    are added, because they hold its companions (libgfortran, libatlas).

    Args:
        folder: the folder in which the program is linked; it is used for this library only.
        final: the folder to which it will be moved.
    """
    name = soname(library.path) or library.path.name
    beside = library.path.parent / name
    if beside.exists() and beside.resolve() == library.path:
        home = library.path.parent
    else:
        (folder / LIBRARIES).mkdir(exist_ok=True)
        with suppress(FileExistsError):
            (folder / LIBRARIES / name).symlink_to(library.path)
        home = final / LIBRARIES
    behind = [] if library.behind is None else link_arguments(_only(library.behind, library), search, folder, final)
    folders = library_folders(search, library.path)
    rpath = [f"-Wl,-rpath,{path}" for path in dict.fromkeys([home, library.path.parent, *folders])]
    beneath = [str(path) for path in _companions(library.path, folders)]
    needed = ["-Wl,--no-as-needed", *beneath] if beneath else []
    own = ["-L", str(library.path.parent), str(library.path), *needed, "-Wl,--disable-new-dtags", *rpath]
    return [*(["-Wl,--no-as-needed"] if behind else []), *own, *behind]


def _only(file: Path, front: BlasLibrary) -> BlasLibrary:
    """Return the library that stands behind another one."""
    return replace(front, path=file, behind=None, settings=None)


def _companions(path: Path, folders: Sequence[Path]) -> list[Path]:
    """List the libraries in these folders that a library needs, directly or not.

    The program itself must name them, because some linkers (LLVM's in PyPI's ziglang) write a DT_RUNPATH, which the
    loader ignores for the needs of libraries.
    """
    companions: list[Path] = []
    waiting = [path]
    while waiting:
        for name in needed_names(waiting.pop()):
            companion = next((folder / name for folder in folders if (folder / name).exists()), None)
            if companion is not None and companion not in companions:
                companions.append(companion)
                waiting.append(companion)
    return companions


def soname(path: Path) -> str | None:
    """Read the SONAME of a library; None where it has none or is no ELF file."""
    return next(iter(_dynamic(path, "DT_SONAME", "soname")), None)


def needed_names(path: Path) -> list[str]:
    """Read the names of the libraries that a library or program needs; a file that is not ELF needs none."""
    return _dynamic(path, "DT_NEEDED", "needed")


def _dynamic(path: Path, tag: str, attribute: str) -> list[str]:
    """Read the values of one tag in a library's dynamic section; a file that is not ELF has none."""
    from elftools.common.exceptions import ELFError  # noqa: PLC0415 - only what reads a library needs it
    from elftools.elf.dynamic import DynamicSection  # noqa: PLC0415
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    try:
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            tags = dynamic.iter_tags(tag) if isinstance(dynamic, DynamicSection) else ()
            return [str(getattr(entry, attribute)) for entry in tags]
    except (OSError, ELFError):
        return []


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
    try:
        said = run_child(("ldd", str(program)), variables, timeout_s=60)
        said.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"the libraries of {program} cannot be listed: {error}") from error
    found = dict(re.findall(r"^\s*(\S+) => (/.*) \(0x", said.stdout, re.MULTILINE))
    return (blas.path, *_beneath(blas.path, found, set()))


def linked_mpi(program: Path) -> str | None:
    """Return the name of the MPI library that a program is linked with; None for a script and where it cannot be told.

    The file of the library says it: Open MPI, MPICH and Intel MPI all have a libmpi.so. If the loader does not find the
    file here, its name must do.
    """
    libraries = (_named(name) if place == "not found" else _mpi_in(Path(place)) for name, place in _loaded(program))
    return next(filter(None, libraries), None)


def loads_mpi(program: Path) -> bool:
    """Return whether a program is linked with any MPI library, also with one that the loader does not find here."""
    return bool(_loaded(program))


def mpi_library(program: Path) -> Path | None:
    """Return the file of the MPI library that the loader finds here for a program; None where it finds none."""
    return next((Path(place) for _, place in _loaded(program) if place != "not found" and _mpi_in(Path(place))), None)


def _loaded(program: Path) -> list[tuple[str, str]]:
    """Return the names of libraries that may be MPI's, and the file that the loader finds here, or "not found"."""
    try:
        said = run_child(("ldd", str(program)), os.environ, timeout_s=60).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"^\s*(libmpi\S*\.so\S*) => (/.*(?= \(0x)|not found)", said, re.MULTILINE)


def _mpi_in(library: Path) -> str | None:
    with suppress(OSError):
        content = library.read_bytes()
        return next((name for name, words in _SAYS.items() if words in content), None)
    return None


def mpi_of_file(library: str) -> str | None:
    """Return the name of the MPI library that a file of this name is of; None where nobody knows."""
    return _named(library) or ("mpich" if library.startswith("libmpi.so.12") else None)


def _named(library: str) -> str | None:
    return next((name for start, name in _NAMES.items() if library.startswith(start)), None)


def _beneath(library: Path, found: Mapping[str, str], seen: set[str]) -> Iterator[Path]:
    for name in needed_names(library):
        if name in seen or name not in found or _EVERYWHERE.fullmatch(name):
            continue
        seen.add(name)
        yield Path(found[name])
        yield from _beneath(Path(found[name]), found, seen)
