"""Refuses MPI parameters that the MPI libraries of a study do not know, before anything is measured with them."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from hpl.build.toolchain import CONTROL, Mpi, parameters_of
from hpl.search_paths import SearchPaths
from runners.forwarded import VARIABLES
from runners.launchers.openmpi import TRANSPORTS
from search_spaces.load import entries
from search_spaces.parameters.automatic import AUTO
from search_spaces.parameters.dimension import MPI_PARAMETERS

from ..errors import UsageError
from ..options import TuneOptions
from ..user_dirs import UserDirs
from .survey import program_of, usable_mpis


def require_mpi_parameters(options: TuneOptions, text: str, user_dirs: UserDirs) -> None:
    """Make sure that each `mpi.NAME` of a space is a parameter of the MPI libraries that will be given it.

    Args:
        text: the TOML of the space.

    Raises:
        TunerError: one is not; the sentence names the nearest that is.
        SpaceError, HplError: the space cannot be read, or there is no MPI here.
    """
    given = entries(options.space, options.overrides, text)
    names = [name for name in given if name.startswith(MPI_PARAMETERS)]
    if not names:
        return
    usable = usable_mpis(SearchPaths(user_dirs.prefix, user_dirs.cache), program_of(options))
    mpis = _used(usable, given.get("mpi"))
    for name in names:
        cases = given[name] if isinstance(given[name], Mapping) and given[name].get("by") == "mpi" else None
        for mpi in mpis:
            if cases is None or mpi.name in cases:
                _require(name, mpi, alone=len(mpis) == 1)


def _used(mpis: Sequence[Mpi], entry: Any) -> Sequence[Mpi]:
    """The libraries that a study runs with; a missing one is reported elsewhere."""
    if entry is None:
        return mpis[:1]
    return (
        mpis if entry == AUTO else [mpi for mpi in mpis if mpi.name in (entry if isinstance(entry, list) else [entry])]
    )


def _require(name: str, mpi: Mpi, *, alone: bool) -> None:
    bare = name.removeprefix(MPI_PARAMETERS)
    whose = f"{mpi.name} {mpi.version}"
    only = "" if alone else f'; where it is meant for another, say "{name}" = {{ by = "mpi", NAME = [...] }}'
    if mpi.name == "openmpi" and bare.startswith(TRANSPORTS):
        return
    if mpi.name != "openmpi" and not bare.startswith(VARIABLES):
        raise UsageError(f"{name}: {whose} reads variables that begin with {', '.join(VARIABLES)} only{only}")
    if mpi.name != "openmpi" and not bare.startswith(CONTROL[mpi.name]):
        return
    known = parameters_of(mpi)
    if not known or bare in known:
        return
    near = difflib.get_close_matches(bare, known, n=1)
    hint = f"did you mean {MPI_PARAMETERS}{near[0]}?" if near else f"`{_LISTS.get(mpi.name)}` lists those it has"
    raise UsageError(f"{name}: {whose} has no parameter {bare}: {hint}{only}")


_LISTS = {"openmpi": "ompi_info --all", "mpich": "mpivars", "intelmpi": "impi_info -all"}
