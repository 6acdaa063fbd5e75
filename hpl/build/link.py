"""Links a program so that exactly one BLAS file is mapped at run time.

Debian's libopenblas.so.0 and libblas.so.3 go through update-alternatives, and modules set LD_LIBRARY_PATH: a program
that only names a library may get any. DT_RPATH comes before both.
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
    """Arguments that bind the program to this file.

    A link of the library's own name (SONAME) to the file is made in `folder`/lib, where the program will look first.
    Where a link of that name already lies beside the file it is used instead, because libraries that find their
    companions through $ORIGIN must be opened where they lie. A library of the private prefix also gets the
    prefix's other folders, because its own companions (libgfortran, libatlas) lie there.

    Args:
        folder: where the program is being linked, which belongs to this library alone; `final` is where it will be
            moved to.
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
    """What a library needs, directly or not, and lies in these folders.

    The program names them itself, because some linkers (LLVM's, in PyPI's ziglang) write a DT_RUNPATH, which the loader
    does not look into for what a library needs.
    """
    found: list[Path] = []
    waiting = [path]
    while waiting:
        for name in _dynamic(waiting.pop(), "DT_NEEDED", "needed"):
            companion = next((folder / name for folder in folders if (folder / name).exists()), None)
            if companion is not None and companion not in found:
                found.append(companion)
                waiting.append(companion)
    return found


def soname(path: Path) -> str | None:
    """The name a library wants to be asked for; None where it has none or is no ELF file."""
    return next(iter(_dynamic(path, "DT_SONAME", "soname")), None)


def _dynamic(path: Path, tag: str, attribute: str) -> list[str]:
    """The values of one kind of tag in a library's dynamic section; none for what is no ELF file."""
    try:
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            tags = dynamic.iter_tags(tag) if isinstance(dynamic, DynamicSection) else ()
            return [str(getattr(entry, attribute)) for entry in tags]
    except (OSError, ELFError):
        return []
