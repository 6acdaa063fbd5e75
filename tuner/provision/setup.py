"""Sets up a machine: decides what is missing, and installs it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hpl.build.simgrid import simgrid_here
from hpl.errors import HplError
from hpl.search_paths import SearchPaths

from ..events import Listener, Notice
from ..user_dirs import UserDirs
from .actions import SetupError
from .install import Installation, Installers
from .plan import EXTRAS, Needs, SetupPlan, needs, plan

ADVICE = (
    "install Open MPI, gcc and OpenBLAS with your package manager or load your modules, "
    "or bring your own with ⟦blas⟧ NAME=FILE and ⟦xhpl⟧ FILE"
)


def provision_if_needed(
    user_dirs: UserDirs,
    listener: Listener,
    blas_files: Mapping[str, Path] | None,
    *,
    program: bool,
    installers: Installers | None = None,
) -> None:
    """Install what `tune` needs and this machine lacks, and say so.

    Args:
        program: the user brings a built xhpl, so that only MPI is needed.

    Raises:
        SetupError: something is still missing afterwards.
    """
    work = Installation(user_dirs, listener, installers or Installers.of_this_process())
    look = partial(needs, user_dirs, blas_files, program=program, system=work.installers.system)
    missing = look()
    if not missing:
        return
    listener(Notice("This machine cannot run HPL yet; setting it up (`hpltune clean` tells how to undo it)."))
    chosen = plan(missing, as_root=work.installers.as_root)
    for line in (missing_sentence(missing), *chosen.lines(user_dirs)):
        listener(Notice(line))
    left = install(chosen, work, look, fall_back=True)
    if left:
        raise SetupError(f"this machine still lacks {left}: remove the cause that the lines above tell, or {ADVICE}")


def missing_sentence(missing: Needs) -> str:
    """What is missing, or that nothing is."""
    return f"Missing: {missing}." if missing else "Compiler, MPI and a fast BLAS are here."


def absent_extras(extras: Sequence[str], user_dirs: UserDirs) -> dict[str, str]:
    """Those of the extras that are not here yet, each with the reason."""
    return {name: why for name in extras if (why := _absence(name, user_dirs))}


def _absence(extra: str, user_dirs: UserDirs) -> str:
    """Why an extra cannot be used; "" where it can."""
    try:
        if extra == "simgrid":
            here = simgrid_here(SearchPaths(user_dirs.prefix, user_dirs.cache)) is not None
        else:
            here = (user_dirs.private_prefix / "wheels" / EXTRAS[extra].name).is_dir()
    except HplError as error:
        return str(error)
    return "" if here else f"it was not installed (log: {user_dirs.cache / 'setup.log'})"


def install(chosen: SetupPlan, work: Installation, look: Callable[[], Needs], *, fall_back: bool) -> Needs:
    """Carry a plan out.

    Args:
        look: finds out what is missing.
        fall_back: try the private prefix where the system's package manager could not install everything.

    Returns:
        What is missing then.
    """
    work.carry_out(chosen)
    left = look()
    if chosen.system and left and fall_back:
        instead = plan(left, as_root=False)
        work.listener(Notice(f"Still missing: {left}. Trying without the package manager."))
        work.carry_out(instead)
        left = look()
    return left
