"""Lists the shared libraries that a program needs for its BLAS, so that they can be copied to another machine."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..blas.catalogue import BlasLibrary
from ..blas.registry import family
from .link import needed_names
from .toolchain import ToolchainError

_EVERYWHERE = re.compile(r"(ld-|linux-|lib(c|m|mvec|dl|rt|pthread|util|resolv)\.so).*")
"""The C library, which fits only its own loader, and which every system has."""


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


def _beneath(library: Path, found: Mapping[str, str], seen: set[str]) -> Iterator[Path]:
    for name in needed_names(library):
        if name in seen or name not in found or _EVERYWHERE.fullmatch(name):
            continue
        seen.add(name)
        yield Path(found[name])
        yield from _beneath(Path(found[name]), found, seen)
