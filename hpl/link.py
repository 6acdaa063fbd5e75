"""Links a program so that exactly one BLAS file is mapped at run time.

Debian's libopenblas.so.0 and libblas.so.3 go through update-alternatives, and modules set LD_LIBRARY_PATH: a program
that only names a library may get any. DT_RPATH comes before both.
"""

import re
import subprocess
from pathlib import Path

from .blas.catalogue import BlasLibrary

LIBRARIES = "lib"


def link_arguments(library: BlasLibrary, folder: Path, final: Path) -> list[str]:
    """Arguments that bind the program to this file.

    A link of the library's own name (SONAME) to the file is made in `folder`/lib, where the program will look first.
    Where a link of that name already lies beside the file it is used instead, because libraries that find their
    companions through $ORIGIN must be opened where they lie.

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
    paths = [home, library.path.parent] if home != library.path.parent else [home]
    rpath = [f"-Wl,-rpath,{path}" for path in paths]
    return ["-L", str(library.path.parent), str(library.path), "-Wl,--disable-new-dtags", *rpath]


def soname(path: Path) -> str | None:
    """The name a library wants to be asked for; None where it has none or nothing here can read it."""
    try:
        done = subprocess.run(
            ["readelf", "-d", str(path)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError:
        return None
    found = re.search(r"\(SONAME\).*\[(.+)\]", done.stdout)
    return found[1] if found else None
