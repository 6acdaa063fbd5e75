"""Asks an MPI library which parameters it knows, because it silently ignores unknown names."""

import re
from collections.abc import Iterator
from pathlib import Path

from .build.toolchain import Mpi, ToolchainError, program_output

_PARSABLE = re.compile(r":param:(\w+):")
_SHOWN = re.compile(r'"(\w+)"\s+\(current')
_CONTROL = re.compile(r"^\s*(MPIR_CVAR_\w+)", re.MULTILINE)
CONTROL = "MPIR_CVAR_"
"""Beginning of the names of MPICH's own variables; other variables belong to the libraries that it uses."""


def parameters_of(mpi: Mpi) -> frozenset[str]:
    """Return the names of all parameters.

    For Open MPI, `ompi_info` lists them (from version 5 on also `prte_info` and `pmix_info`), for MPICH `mpivars`.
    The result is empty where these programs are missing or do not run: then the names are not known.
    """
    try:
        return frozenset(_names(mpi))
    except ToolchainError:
        return frozenset()


def _names(mpi: Mpi) -> Iterator[str]:
    if mpi.name == "openmpi":
        yield from _PARSABLE.findall(_output_of(mpi, "ompi_info", "--all", "--parsable"))
        if int(mpi.version.split(".", maxsplit=1)[0]) >= 5:
            for program in ("prte_info", "pmix_info"):
                yield from _SHOWN.findall(_output_of(mpi, program, "--all"))
    elif mpi.name == "mpich":
        yield from _CONTROL.findall(_output_of(mpi, "mpivars"))


def _output_of(mpi: Mpi, program: str, *arguments: str) -> str:
    path: Path = mpi.mpirun.with_name(program)
    return program_output([str(path), *arguments], mpi.variables())
