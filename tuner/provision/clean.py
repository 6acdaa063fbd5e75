"""`hpltune clean`: removes what setup and builds left."""

import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console

from ..errors import TunerError
from ..hold_folders import hold_folders
from ..user_dirs import UserDirs
from .consent import agreed
from .install import remembered

OURS = ("builds", "probes", "source", "prefix", "setup.log", "install.log")
"""In the cache; `install.log` is of the first start, which `.ci/bootstrap` does."""


def run_clean(places: UserDirs, console: Console, *, assume_yes: bool, runs: bool, dry_run: bool) -> int:
    """Remove our folders from the cache, and with `runs` the folders of runs; the database and system packages stay.

    Raises:
        TunerError: something cannot be removed, or hpltune is at work with it.
    """
    targets = [places.cache / name for name in OURS if (places.cache / name).exists()]
    if runs and (places.data / "runs").exists():
        targets.append(places.data / "runs")
    for target in targets:
        console.print(f"{target}  ({_size(target) / 1e6:.0f} MB)", soft_wrap=True)
    if not targets:
        console.print("There is nothing to remove.")
    elif dry_run:
        console.print("Nothing was removed.")
    elif assume_yes or agreed("Remove these?"):
        with hold_folders(places, alone=True):
            for target in targets:
                _remove(target)
        console.print("Removed.")
    else:
        console.print("Nothing was removed.")
        return 1
    for sentence in _staying(places):
        console.print(sentence, soft_wrap=True)
    return 0


def _staying(places: UserDirs) -> list[str]:
    """What is not removed, and how to."""
    packages = remembered(places.manifest)
    system = f"System packages stay; setup installed these: apt-get remove {' '.join(packages)}; apt-get autoremove"
    return [
        *([system] if packages else []),
        f"The database {places.database} and the files of winners stay: rm -r {shlex.quote(str(places.data))}",
        f"The program itself stays: rm -r {shlex.quote(sys.prefix)}",
    ]


def _size(target: Path) -> int:
    files = [target] if target.is_file() else target.rglob("*")
    return sum(file.lstat().st_size for file in files if file.is_file() and not file.is_symlink())


def _remove(target: Path) -> None:
    try:
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()
    except OSError as error:
        raise TunerError(f"cannot remove {target}: {error.strerror}") from error
