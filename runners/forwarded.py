"""What an MPI launcher may be told about nodes.

Open MPI and Hydra repeat MCA parameters, the path of the launch agent and their own path on the command line of the
daemon that they start on a node, and the node's login shell reads that line. The program, its folder, its arguments and
its variables travel in a message instead: those may hold anything.
"""

import re
from pathlib import Path

from .errors import InvalidJobError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""Names of MPI parameters."""
VALUE = re.compile(r"-[0-9][0-9.]*|[A-Za-z0-9_./^+][A-Za-z0-9_./^+,:=@%-]*")
"""Values that mean themselves to every shell: in no place an option, a command, a file pattern or several words."""
RESERVED = re.compile(r"mca_.*|(.*_)?(agent|args|chdir|libpath|prefix|env_list\w*|component_path|param_files?)")
"""Open MPI's parameters that name a program to start, or a file or library to load."""
ALLOWED = "letters, digits and _ . , : / + = @ % ^ -, beginning with - only in a number"
VARIABLES = ("MPIR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_")
"""What the names of variables begin with that MPICH, Intel MPI and the libraries below them read."""
_PATH = re.compile(r"/[A-Za-z0-9_./+=@%-]*")


def parameter_fault(name: str, value: str) -> str | None:
    """Why no launcher may be told this MPI parameter, as one sentence; None where it may."""
    if not NAME.fullmatch(name):
        return f"MPI parameter {name!r}: expected a name of letters, digits and _ . -"
    if RESERVED.fullmatch(name):
        return f"MPI parameter {name}: it names what MPI starts or loads, which hpltune chooses itself: leave it out"
    if not VALUE.fullmatch(value):
        return f"MPI parameter {name} = {value!r}: shells of the nodes read it, so expected {ALLOWED}"
    return None


def require_variables(names: tuple[str, ...]) -> None:
    """Make sure that variables given as MPI parameters are such as MPICH and the libraries below it read.

    Raises:
        InvalidJobError: one is not; ranks would get it all the same.
    """
    for name in names:
        if not name.startswith(VARIABLES):
            raise InvalidJobError(f"MPI parameter {name}: MPICH and Intel MPI read {', '.join(VARIABLES)}… only")


def plain(path: Path) -> bool:
    """Whether a path means itself to every shell, and to options that are split at blanks and colons."""
    return _PATH.fullmatch(str(path)) is not None


def require_plain(mpirun: Path) -> None:
    """Make sure that a launcher may repeat its own path on nodes.

    Raises:
        InvalidJobError: it holds other signs than shells take for themselves.
    """
    if not plain(mpirun):
        raise InvalidJobError(
            f"{str(mpirun)!r} starts no ranks on other nodes: shells of the nodes read its path, so expected letters, "
            "digits and / _ . + = @ % -: install MPI elsewhere, or set HPLTUNE_CACHE where `hpltune setup` installed it"
        )
