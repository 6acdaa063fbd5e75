"""Checks what an MPI launcher may forward to nodes through their shells.

Open MPI and Hydra start a daemon on each node with a command line that a login shell reads. This line repeats the MCA
parameters, the path of the launch agent and the launcher's own path. The program, its folder, its arguments and its
variables are sent in a message, so they may contain anything.
"""

import re
from pathlib import Path

from .errors import InvalidJobError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""Names of MPI parameters."""
VALUE = re.compile(r"-[0-9][0-9.]*|[A-Za-z0-9_./^+][A-Za-z0-9_./^+,:=@%-]*")
"""Values that every shell takes literally: never an option, a command, a file pattern or several words."""
RESERVED = re.compile(
    r"mca_.*|(.*_)?(agent|args|chdir|libpath|prefix|env_list\w*|component_path|param_files?)"
    r"|I_MPI_\w*(EXEC|ARGS|SHELL|LIBRARY|PATH|DIR|ROOT|FILE)|FI_PROVIDER_PATH|UCX_MODULE_DIR"
)
"""Parameters of Open MPI, Intel MPI, libfabric and UCX that name a program to start or a file or library to load."""
ALLOWED = "letters, digits and _ . , : / + = @ % ^ -, beginning with - only in a number"
VARIABLES = ("MPIR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_")
"""Prefixes of the variables that MPICH, Intel MPI and the libraries below them read."""
_PATH = re.compile(r"/[A-Za-z0-9_./+=@%-]*")


def parameter_fault(name: str, value: str) -> str | None:
    """Return the sentence why no launcher may get this MPI parameter, or None if it may."""
    if not NAME.fullmatch(name):
        return f"MPI parameter {name!r}: expected a name of letters, digits and _ . -"
    if RESERVED.fullmatch(name):
        return f"MPI parameter {name}: it names what MPI starts or loads, which hpltune chooses itself: leave it out"
    if not VALUE.fullmatch(value):
        return f"MPI parameter {name} = {value!r}: shells of the nodes read it, so expected {ALLOWED}"
    return None


def require_variables(names: tuple[str, ...]) -> None:
    """Make sure that MPI parameters given as variables are ones that MPICH and the libraries below it read.

    Raises:
        InvalidJobError: a variable is not; the ranks would get it nevertheless.
    """
    for name in names:
        if not name.startswith(VARIABLES):
            raise InvalidJobError(f"MPI parameter {name}: MPICH and Intel MPI read {', '.join(VARIABLES)}… only")


def plain(path: Path) -> bool:
    """Return whether every shell takes a path literally, also in options that are split at blanks and colons."""
    return _PATH.fullmatch(str(path)) is not None


def require_plain(mpirun: Path) -> None:
    """Make sure that a launcher may repeat its own path to the shells of nodes.

    Raises:
        InvalidJobError: the path contains characters that a shell does not take literally.
    """
    if not plain(mpirun):
        raise InvalidJobError(
            f"{str(mpirun)!r} starts no ranks on other nodes: shells of the nodes read its path, so expected letters, "
            "digits and / _ . + = @ % -: install MPI elsewhere, or set HPLTUNE_CACHE where `hpltune setup` installed it"
        )
