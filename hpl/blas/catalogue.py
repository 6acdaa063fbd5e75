"""BLAS libraries as frozen values: the registry finds them and the build links them."""

import os
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..errors import AskedError, HplError
from ..search_paths import SearchPaths

TRIPLET = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
SYSTEM = ("usr/local/lib", "usr/local/lib64", f"usr/lib/{TRIPLET}", "usr/lib64", "usr/lib")
BELOW_ROOT = ("lib", "lib64", "lib/intel64", "lib_LP64")
"""Folders of libraries below a folder that a module names; the last is AOCL's."""


@dataclass(frozen=True)
class LibraryFile:
    """A file that may be a BLAS: its catalogue name, its real path, and where it was found.

    Attributes:
        behind, settings: as of a BlasLibrary.
    """

    blas: str
    path: Path
    origin: str
    behind: Path | None = None
    settings: Path | None = None


def look(
    search: SearchPaths, blas: str, names: Sequence[str], *, roots: Sequence[str] = (), module: str = ""
) -> list[LibraryFile]:
    """Find the files of these names, with every link followed; each real file once.

    The user's own setup comes first: variables of environment modules, the library path, pkg-config.

    Args:
        names: file names, or paths below a folder of libraries.
        roots: variables in which modules name the library's installation folder.
        module: the library's name for pkg-config.
    """
    found: dict[Path, LibraryFile] = {}
    for folder, origin in (*_own(roots, module), *_system(search)):
        for path in (folder / name for name in names):
            if path.is_file():
                found.setdefault(path.resolve(), LibraryFile(blas, path.resolve(), origin))
    return list(found.values())


def library_folders(search: SearchPaths, file: Path | None = None) -> tuple[Path, ...]:
    """List the private prefix's folders in which libraries of unpacked packages find each other.

    Args:
        file: which of them it needs: none where it is no file of the prefix.
    """
    prefix = search.prefix and search.prefix.resolve()
    if prefix is None or search.debs is None or (file and not file.resolve().is_relative_to(prefix)):
        return ()
    return tuple(folder for folder in (search.debs / name for name in SYSTEM) if folder.is_dir())


def library_path(file: Path, search: SearchPaths) -> dict[str, str]:
    """Return LD_LIBRARY_PATH for a file of an unpacked package, which does not find the other packages itself."""
    folders = [str(folder) for folder in library_folders(search, file)]
    if not folders:
        return {}
    return {"LD_LIBRARY_PATH": ":".join([*folders, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}


def _own(roots: Sequence[str], module: str) -> Iterator[tuple[Path, str]]:
    for variable in roots:
        if os.environ.get(variable):
            for below in BELOW_ROOT:
                yield Path(os.environ[variable]) / below, variable
    for variable in ("LD_LIBRARY_PATH", "LIBRARY_PATH"):
        for entry in os.environ.get(variable, "").split(":"):
            if entry:
                yield Path(entry), variable
    folder = _pkg_config(module) if module else ""
    if folder:
        yield Path(folder), "pkg-config"


def _system(search: SearchPaths) -> Iterator[tuple[Path, str]]:
    for entry in SYSTEM:
        yield Path("/") / entry, f"/{entry}"
    for folder in library_folders(search):
        yield folder, "private prefix"


def _pkg_config(module: str) -> str:
    """Ask pkg-config for the folder of a module's libraries; "" without pkg-config or for an unknown module."""
    tool = shutil.which("pkg-config")
    if tool is None:
        return ""
    from ..child import run_child  # noqa: PLC0415 - commands that only look need no other program

    return run_child([tool, "--variable=libdir", module], os.environ).stdout.strip()


NAMED = "--blas"
"""Origin of a library that the user named."""
INSTALL = "install its threaded build with `hpltune setup`"


class BlasError(HplError):
    """A BLAS library is missing, does not load or cannot be used; the message names it and says what to do."""


class NoSuchBlasError(BlasError, AskedError):
    """The file of a library that the user named is not there."""


class Threading(StrEnum):
    """The way in which a library runs one call on several cores."""

    SERIAL = "serial"
    PTHREADS = "pthreads"
    OPENMP = "openmp"
    AT_RUN_TIME = "at run time"
    """A variable decides when the library starts (MKL's single dynamic library)."""

    @property
    def threaded(self) -> bool:
        """Whether one call may use more than one core."""
        return self is not Threading.SERIAL


@dataclass(frozen=True)
class BlasLibrary:
    """One shared library that exports `dgemm_`, possibly behind a prefix.

    Attributes:
        blas: its name in the catalogue ("openblas", or the user's own name).
        family: its maker: "openblas", "blis", "atlas", "reference", "mkl" or "other".
        version: as the library, its package or its file name says; "" where it is not known.
        path: the real file, with every link followed.
        threading: how it uses several cores.
        symbol_prefix: the prefix of every Fortran symbol ("scipy_" or "").
        origin: a phrase that says where it was found ("/usr/lib/x86_64-linux-gnu", "private prefix", "--blas").
        kernel_ids: the library's numbers of its kernels, where it uses numbers (BLIS).
        behind: another BLAS, which a program needs for what this one lacks; None where it lacks nothing.
        settings: the folder of its files of settings, where it reads such.
    """

    blas: str
    family: str
    version: str
    path: Path
    threading: Threading
    symbol_prefix: str
    origin: str
    kernel_ids: tuple[tuple[str, int], ...] = ()
    behind: Path | None = None
    settings: Path | None = None


@dataclass(frozen=True)
class Blas:
    """A BLAS as a user chooses it: a name and its builds on this machine (serial, threaded)."""

    name: str
    family: str
    libraries: tuple[BlasLibrary, ...]

    @property
    def threaded(self) -> bool:
        """Whether any build of it can use more than one thread."""
        return any(library.threading.threaded for library in self.libraries)

    def library(self, threads: int) -> BlasLibrary:
        """Choose the build for a number of threads per rank.

        One thread takes the serial build where there is one, because a threaded build pays for its locks even with one
        thread. More threads take a threaded build.

        Args:
            threads: threads per rank, at least 1.

        Raises:
            BlasError: no build of this BLAS runs that many threads.
        """
        serial = [library for library in self.libraries if not library.threading.threaded]
        threaded = [library for library in self.libraries if library.threading.threaded]
        fitting = serial + threaded if threads == 1 else threaded
        if not fitting:
            paths = ", ".join(str(library.path) for library in self.libraries) or "nothing"
            named = any(library.origin == NAMED for library in self.libraries)
            advice = f"name its threaded build with ⟦blas⟧ {self.name}=FILE" if named else INSTALL
            message = (
                f"BLAS {self.name} has no build for {threads} threads per rank (found: {paths}): "
                f"{advice}, or use a layout with 1 thread per rank."
            )
            raise BlasError(message)
        return fitting[0]
