"""Finds library files in the system's folders, the user's and the private prefix."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..search_paths import SearchPaths

TRIPLET = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
SYSTEM = ("usr/local/lib", "usr/local/lib64", f"usr/lib/{TRIPLET}", "usr/lib64", "usr/lib")
BELOW_ROOT = ("lib", "lib64", "lib/intel64", "lib_LP64")
"""Folders of libraries below a folder that a module names; the last is AOCL's."""


@dataclass(frozen=True)
class LibraryFile:
    """A file that may be a BLAS: its catalogue name, its real path, and where it was found."""

    blas: str
    path: Path
    origin: str


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


def library_folders(search: SearchPaths) -> tuple[Path, ...]:
    """List the private prefix's folders in which libraries of unpacked packages find each other."""
    if search.debs is None:
        return ()
    return tuple(folder for folder in (search.debs / name for name in SYSTEM) if folder.is_dir())


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
    done = subprocess.run([tool, "--variable=libdir", module], capture_output=True, text=True, check=False)
    return done.stdout.strip()
