"""Folders in which libraries lie."""

import os
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..search import SearchPaths


@dataclass(frozen=True)
class Found:
    """A file that may be a BLAS: the catalogue name it would have, its real path, and where it was found."""

    blas: str
    path: Path
    origin: str


def folders(search: SearchPaths) -> Iterator[tuple[Path, str]]:
    """Folders of libraries with a word for each: loaded modules first, then the system's, then the private prefix."""
    for variable in ("LD_LIBRARY_PATH", "LIBRARY_PATH"):
        for entry in os.environ.get(variable, "").split(":"):
            if entry:
                yield Path(entry), variable
    triplet = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    usual = [f"usr/lib/{triplet}", "usr/lib64", "usr/lib", "usr/local/lib", "usr/local/lib64"]
    for entry in usual:
        yield Path("/") / entry, f"/{entry}"
    if search.debs is not None:
        for entry in usual:
            yield search.debs / entry, "private prefix"


def look(search: SearchPaths, blas: str, names: Sequence[str]) -> list[Found]:
    """The files of these names that exist, with every link followed; each real file once."""
    found: dict[Path, Found] = {}
    for folder, origin in folders(search):
        for name in names:
            path = folder / name
            if path.is_file():
                real = path.resolve()
                found.setdefault(real, Found(blas, real, origin))
    return list(found.values())
