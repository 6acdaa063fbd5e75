"""`hpltune setup`: says what it will install, does it, and says what came of it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from hpl.errors import HplError
from hpl.private_apt import AptError, private_apt
from hpl.search import SearchPaths
from hpl.source import obtain

from ..files import write_text
from ..places import Places
from .actions import SetupError, Steps
from .needs import Needs, needs
from .packages import EXTRAS, Package
from .plan import SetupPlan, known_to_apt, plan


@dataclass(frozen=True)
class SetupRequest:
    """The options of `hpltune setup`."""

    extras: Sequence[str] = ()
    private: bool = False
    assume_yes: bool = False
    dry_run: bool = False
    as_json: bool = False


def run_setup(request: SetupRequest, places: Places, console: Console) -> int:
    """Install what is missing.

    Returns:
        0 when nothing is missing afterwards, 1 otherwise.
    """
    unknown = [name for name in request.extras if name not in EXTRAS]
    if unknown:
        raise SetupError(f"--with {unknown[0]}: expected one of {', '.join(EXTRAS)}")
    missing = needs(places)
    chosen = plan(missing, request.extras, private=request.private)
    if request.as_json:
        print(json.dumps({"missing": str(missing), "will_install": chosen.sentences(places)}))
    if not chosen:
        console.print("Nothing is missing: compiler, MPI and a fast BLAS are here.")
        return _source(places, console, request)
    console.print(f"Missing: {missing}.")
    for sentence in chosen.sentences(places):
        console.print(sentence, markup=False)
    if request.dry_run:
        return 0
    if not request.assume_yes and not _agreed():
        console.print("Nothing was installed.")
        return 1
    install(chosen, places, console)
    _source(places, console, request)
    return report(needs(places), places, console)


def provision_if_needed(
    places: Places, console: Console, blas_files: Mapping[str, Path] | None, *, program: bool
) -> None:
    """What `tune` does first: install what is missing, saying so.

    Raises:
        SetupError: something is still missing afterwards.
    """
    missing = needs(places, blas_files, program=program)
    if not missing:
        return
    console.print(f"This machine lacks {missing}; setting it up (`hpltune clean` undoes it).")
    chosen = plan(missing, (), private=False)
    for sentence in chosen.sentences(places):
        console.print(sentence, markup=False)
    install(chosen, places, console)
    left = needs(places, blas_files, program=program)
    if left:
        raise SetupError(f"this machine still lacks {left}: {ADVICE}")


ADVICE = (
    "install Open MPI, gcc and OpenBLAS with your package manager or load your modules, "
    "or bring your own with --blas NAME=FILE and --xhpl FILE"
)


def install(chosen: SetupPlan, places: Places, console: Console) -> None:
    """Carry a plan out; a wheel or package that cannot be had is said and passed over, for others may do."""
    steps = Steps(places.cache / "setup.log")
    done: list[str] = []
    if chosen.system:
        with console.status("apt-get update"):
            steps.apt_update()
        packages = known_to_apt(chosen.system)
        for package in set(chosen.system) - set(packages):
            console.print(f"  {package.name}: installed already, or not in this release", markup=False)
        if packages:
            with console.status(f"apt-get install ({len(packages)} packages)"):
                steps.apt_install([package.name for package in packages])
            done += [package.name for package in packages]
            _remember(places, done)
    for package in chosen.wheels:
        _wheel(package, places, steps, console)
    if chosen.unpacked:
        _unpack(chosen.unpacked, places, steps, console)
    if done:
        console.print(f"  installed: {', '.join(done)}", markup=False)


def _wheel(package: Package, places: Places, steps: Steps, console: Console) -> None:
    prefix = places.private_prefix / "wheels" / package.name
    try:
        with console.status(f"PyPI: {package.name}"):
            steps.wheel(package.name, prefix)
            if package.name == "ziglang":
                steps.compiler_script(prefix, places.private_prefix / "bin/cc")
    except SetupError as error:
        console.print(f"  {error}", markup=False)
        return
    console.print(f"  {package.name}: in {prefix}", markup=False)


def _unpack(packages: Sequence[Package], places: Places, steps: Steps, console: Console) -> None:
    root = places.private_prefix / "debs"
    try:
        with console.status("unpacking Debian packages"), private_apt() as apt:
            names = [package.name for package in packages if apt.knows(package.name)]
            steps.unpack(apt, names, root)
    except (SetupError, AptError) as error:
        console.print(f"  Debian's packages: {error}", markup=False)
        return
    console.print(f"  {', '.join(names)}: in {root}", markup=False)


def _source(places: Places, console: Console, request: SetupRequest) -> int:
    if request.dry_run:
        return 0
    try:
        source = obtain(SearchPaths(places.prefix, places.cache))
    except HplError as error:
        console.print(str(error), markup=False)
        return 1
    console.print(f"HPL's source: {source.version} from {source.origin}", markup=False)
    return 0


def report(left: Needs, places: Places, console: Console) -> int:
    """Say what is still missing and what to do, or that all is there."""
    if not left:
        console.print("Set up. `hpltune tune` can start; `hpltune clean` removes it again.")
        return 0
    console.print(f"Still missing: {left}. Do this instead: {ADVICE}.", markup=False)
    console.print(f"Everything that was tried is in {places.cache / 'setup.log'}.", markup=False)
    return 1


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise SetupError("nobody can be asked here: add --yes")
    return input("Install these? [y/N] ").strip().lower() in {"y", "yes"}


def manifest(places: Places) -> Path:
    """The file that remembers which system packages setup installed."""
    return places.data / "setup.json"


def _remember(places: Places, packages: Sequence[str]) -> None:
    file = manifest(places)
    before = json.loads(file.read_text(encoding="utf-8"))["apt"] if file.exists() else []
    write_text(file, json.dumps({"apt": sorted({*before, *packages})}, indent=1))
