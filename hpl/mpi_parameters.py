"""The parameters that an MPI library says it reads: names that it does not know change nothing, and nobody says so."""

import re
from collections.abc import Iterator
from pathlib import Path

from .build.toolchain import Mpi, ToolchainError, says

_PARSABLE = re.compile(r":param:(\w+):")
_SHOWN = re.compile(r'"(\w+)"\s+\(current')
_CONTROL = re.compile(r"^\s*(MPIR_CVAR_\w+)", re.MULTILINE)
CONTROL = "MPIR_CVAR_"
"""What the names of MPICH's own variables begin with; others are those of libraries below it."""


def parameters_of(mpi: Mpi) -> frozenset[str]:
    """Names of all parameters.

    Open MPI's `ompi_info` tells them, from version 5 on with `prte_info` and `pmix_info`, and MPICH's `mpivars`.
    Empty where the library does not come with these programs, or they do not run: then nobody can tell.
    """
    try:
        return frozenset(_names(mpi))
    except ToolchainError:
        return frozenset()


def _names(mpi: Mpi) -> Iterator[str]:
    if mpi.name == "openmpi":
        yield from _PARSABLE.findall(_asked(mpi, "ompi_info", "--all", "--parsable"))
        if int(mpi.version.split(".", maxsplit=1)[0]) >= 5:
            for program in ("prte_info", "pmix_info"):
                yield from _SHOWN.findall(_asked(mpi, program, "--all"))
    elif mpi.name == "mpich":
        yield from _CONTROL.findall(_asked(mpi, "mpivars"))


def _asked(mpi: Mpi, program: str, *arguments: str) -> str:
    path: Path = mpi.mpirun.with_name(program)
    return says([str(path), *arguments], mpi.variables())
