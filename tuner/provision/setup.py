"""`hpltune setup`: says what it will install, does it, and says what came of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from hpl.build.simgrid import find_simgrid
from hpl.build.source import obtain
from hpl.errors import HplError
from hpl.search_paths import SearchPaths

from ..user_dirs import UserDirs
from .actions import SetupError
from .consent import agreed
from .install import Installation
from .needs import Needs, needs
from .packages import EXTRAS
from .plan import SetupPlan, plan

ADVICE = (
    "install Open MPI, gcc and OpenBLAS with your package manager or load your modules, "
    "or bring your own with --blas NAME=FILE and --xhpl FILE"
)


@dataclass(frozen=True)
class SetupRequest:
    """The options of `hpltune setup`."""

    extras: Sequence[str] = ()
    private: bool = False
    assume_yes: bool = False
    dry_run: bool = False
    as_json: bool = False


def run_setup(request: SetupRequest, places: UserDirs, console: Console) -> int:
    """Install what is missing, and get HPL's source.

    Args:
        console: where people read; with `as_json` it must not be standard output.

    Returns:
        0 when nothing is missing afterwards or nothing was to be done, 1 otherwise.
    """
    unknown = [name for name in request.extras if name not in EXTRAS]
    if unknown:
        raise SetupError(f"--with {unknown[0]}: expected one of {', '.join(EXTRAS)}")
    look = partial(needs, places)
    missing = look()
    chosen = plan(missing, _absent(request.extras, places), private=request.private)
    work = Installation(places, console)
    left, code = missing, 0
    _announce(missing, chosen, places, console)
    if not request.dry_run:
        if chosen and not request.assume_yes and not agreed("Install these?"):
            console.print("Nothing was installed.")
            return 1
        left = _install(chosen, work, look, private=request.private)
        code = _finish(left, work)
        lacking = [name for name in _absent(request.extras, places) if EXTRAS[name].source == "apt"]
        if lacking:
            console.print(f"Still missing: {', '.join(lacking)}.")
            code = code or 1
    if request.as_json:
        print(json.dumps(_as_json(missing, chosen, work, left), indent=1))
    return code


def provision_if_needed(
    places: UserDirs, console: Console, blas_files: Mapping[str, Path] | None, *, program: bool
) -> None:
    """What `tune` does first: install what is missing, saying so.

    Raises:
        SetupError: something is still missing afterwards.
    """
    look = partial(needs, places, blas_files, program=program)
    missing = look()
    if not missing:
        return
    console.print("This machine cannot run HPL yet; setting it up (`hpltune clean` tells how to undo it).")
    chosen = plan(missing, private=False)
    _announce(missing, chosen, places, console)
    left = _install(chosen, Installation(places, console), look, private=False)
    if left:
        raise SetupError(f"this machine still lacks {left}: {ADVICE}")


def report(left: Needs, places: UserDirs, console: Console) -> int:
    """Say what is still missing and what to do, or that all is there."""
    if not left:
        console.print("Set up: `hpltune tune` can start.")
        return 0
    console.print(f"Still missing: {left}. Do this instead: {ADVICE}.")
    console.print(f"Everything that was tried is in {places.cache / 'setup.log'}.")
    return 1


def _absent(extras: Sequence[str], places: UserDirs) -> list[str]:
    return [name for name in extras if not _present(name, places)]


def _present(extra: str, places: UserDirs) -> bool:
    if extra != "simgrid":
        return (places.private_prefix / "wheels" / EXTRAS[extra].name).is_dir()
    try:
        find_simgrid()
    except HplError:
        return False
    return True


def _announce(missing: Needs, chosen: SetupPlan, places: UserDirs, console: Console) -> None:
    console.print(f"Missing: {missing}." if missing else "Compiler, MPI and a fast BLAS are here.")
    for line in chosen.lines(places):
        console.print(line, soft_wrap=True)


def _install(chosen: SetupPlan, work: Installation, look: Callable[[], Needs], *, private: bool) -> Needs:
    """Carry the plan out; where the system's package manager could not, try the private prefix.

    Returns:
        What is missing then.
    """
    work.carry_out(chosen)
    left = look()
    if chosen.system and left and not private:
        instead = plan(left, private=True)
        work.console.print(f"Still missing: {left}. Trying without the package manager.")
        work.carry_out(instead)
        left = look()
    return left


def _finish(left: Needs, work: Installation) -> int:
    try:
        source = obtain(SearchPaths(work.places.prefix, work.places.cache))
    except HplError as error:
        work.problems.append(str(error))
        work.console.print(str(error))
        return report(left, work.places, work.console) or 1
    work.console.print(f"HPL's source: {source.version} from {source.origin}")
    return report(left, work.places, work.console)


def _as_json(missing: Needs, chosen: SetupPlan, work: Installation, left: Needs) -> dict[str, object]:
    return {
        "missing": list(missing.names),
        "plan": [
            {"name": package.name, "source": package.source, "why": package.why, "size_mb": package.size_mb}
            for package in chosen.packages
        ],
        "installed": work.done,
        "problems": work.problems,
        "still_missing": list(left.names),
    }
