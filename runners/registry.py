"""Launchers by the name of their MPI library. A new one is one file and one line here."""

from collections.abc import Callable
from pathlib import Path

from .errors import InvalidJobError
from .launchers.base import Launcher
from .launchers.openmpi import OpenMpi
from .local import LocalRunner

LAUNCHERS: dict[str, Callable[[Path, str], Launcher]] = {
    "openmpi": OpenMpi.installed,
}


def local_runner(mpi: str, mpirun: Path, version: str) -> LocalRunner:
    """A runner on this machine for an installed MPI library.

    Raises:
        InvalidJobError: its launcher is not known.
    """
    if mpi not in LAUNCHERS:
        raise InvalidJobError(f"ranks of {mpi} cannot be started yet (known: {', '.join(LAUNCHERS)})")
    return LocalRunner(LAUNCHERS[mpi](mpirun, version))
