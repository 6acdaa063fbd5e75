"""Links a program so that exactly one BLAS file is mapped at run time.

Debian's libopenblas.so.0 and libblas.so.3 go through update-alternatives, and modules set LD_LIBRARY_PATH: a program
that only names a library may get any. DT_RPATH comes before both.
"""

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from .blas.catalogue import BlasLibrary
from .blas.places import library_folders
from .search import SearchPaths

LIBRARIES = "lib"


def link_arguments(library: BlasLibrary, search: SearchPaths, folder: Path, final: Path) -> list[str]:
    """Arguments that bind the program to this file.

    A link of the library's own name (SONAME) to the file is made in `folder`/lib, where the program will look first.
    Where a link of that name already lies beside the file it is used instead, because libraries that find their
    companions through $ORIGIN must be opened where they lie. A library of the private prefix also gets the
    prefix's other folders, because its own companions (libgfortran, libatlas) lie there.

    Args:
        folder: where the program is being linked; `final` is where it will be moved to.
    """
    name = soname(library.path) or library.path.name
    beside = library.path.parent / name
    if beside.exists() and beside.resolve() == library.path:
        home = library.path.parent
    else:
        (folder / LIBRARIES).mkdir(exist_ok=True)
        (folder / LIBRARIES / name).symlink_to(library.path)
        home = final / LIBRARIES
    private = search.prefix is not None and search.prefix in library.path.parents
    companions = library_folders(search) if private else ()
    paths = dict.fromkeys([home, library.path.parent, *companions])
    rpath = [f"-Wl,-rpath,{path}" for path in paths]
    return ["-L", str(library.path.parent), str(library.path), "-Wl,--disable-new-dtags", *rpath]


def soname(path: Path) -> str | None:
    """The name a library wants to be asked for; None where it has none or nothing here can read it."""
    try:
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            tags = dynamic.iter_tags("DT_SONAME") if isinstance(dynamic, DynamicSection) else ()
            return next((str(tag.soname) for tag in tags), None)  # type: ignore[attr-defined]  # set when it is read
    except (OSError, ELFError):
        return None
