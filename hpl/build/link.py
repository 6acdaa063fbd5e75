"""Links a program so that exactly one BLAS file is mapped at run time.

A program that only names a library may get another file: Debian's libopenblas.so.0 and libblas.so.3 are links of
update-alternatives, and modules set LD_LIBRARY_PATH. DT_RPATH has priority over both.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from ..blas.catalogue import BlasLibrary
from ..blas.places import library_folders
from ..search_paths import SearchPaths

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
    private = search.prefix is not None and search.prefix in library.path.parents
    folders = library_folders(search) if private else ()
    rpath = [f"-Wl,-rpath,{path}" for path in dict.fromkeys([home, library.path.parent, *folders])]
    beneath = [str(path) for path in _companions(library.path, folders)]
    needed = ["-Wl,--no-as-needed", *beneath] if beneath else []
    return ["-L", str(library.path.parent), str(library.path), *needed, "-Wl,--disable-new-dtags", *rpath]


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
    try:
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            tags = dynamic.iter_tags(tag) if isinstance(dynamic, DynamicSection) else ()
            return [str(getattr(entry, attribute)) for entry in tags]
    except (OSError, ELFError):
        return []
