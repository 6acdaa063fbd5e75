"""Versions of everything that may change a result."""

import platform
from importlib.metadata import version

from hpl.build.toolchain import compiler_version
from hpl.errors import HplError

from ..words import with_options
from .inventory import Inventory


def versions(inventory: Inventory) -> dict[str, str]:
    """What ran: hpltune, HPL's source, MPI, the compiler, Python, Optuna and each BLAS."""
    try:
        compiler = compiler_version(inventory.mpi)
    except HplError:
        compiler = "none"
    found = {
        "hpltune": version("hpltune"),
        "hpl": with_options(inventory.program.description),
        "mpi": f"{inventory.mpi.name} {inventory.mpi.version} ({inventory.mpi.origin})",
        "compiler": compiler,
        "python": platform.python_version(),
        "optuna": version("optuna"),
    }
    for entry in inventory.blas:
        found[f"blas {entry.name}"] = f"{entry.family} {entry.libraries[0].version}"
    return found
