"""Launchers by the name of their MPI library. A new launcher is one file and one line here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidJobError
from .launchers.base import ByMpi, Launcher
from .launchers.mpich import IntelMpi, Mpich
from .launchers.openmpi import OpenMpi

LAUNCHERS: dict[str, Callable[[Path, str], Launcher]] = {
    "openmpi": OpenMpi.installed,
    "mpich": lambda mpiexec, _version: Mpich(mpiexec),
    "intelmpi": lambda mpiexec, _version: IntelMpi(mpiexec),
}
"""What makes the launcher of an installation, of its path and its version."""


@dataclass(frozen=True)
class InstalledMpi:
    """An MPI library of this machine: its name, its launcher's path and its version."""

    mpi: str
    mpirun: Path
    version: str

    def launcher(self) -> Launcher:
        """Return its launcher.

        Raises:
            InvalidJobError: the library's launcher is not known.
        """
        if self.mpi not in LAUNCHERS:
            raise InvalidJobError(f"ranks of {self.mpi} cannot be started yet (known: {', '.join(LAUNCHERS)})")
        return LAUNCHERS[self.mpi](self.mpirun, self.version)


def launchers(installed: Iterable[InstalledMpi]) -> ByMpi:
    """Make a launcher for jobs of any of these libraries.

    Raises:
        InvalidJobError: the launcher of a library is not known.
    """
    return ByMpi({one.mpi: one.launcher() for one in installed})
