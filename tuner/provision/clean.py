"""`hpltune clean`: removes what setup and builds left."""

import json
import shutil
import sys
from pathlib import Path

from rich.console import Console

from ..errors import TunerError
from ..places import Places
from ..units import gibibytes
from .setup import manifest

OURS = ("builds", "probes", "source", "prefix", "setup.log")


def run_clean(places: Places, console: Console, *, assume_yes: bool, runs: bool, dry_run: bool) -> int:
    """Remove our folders from the cache, and with `runs` the folders of runs; the database and system packages stay.

    Raises:
        TunerError: something cannot be removed.
    """
    targets = [places.cache / name for name in OURS if (places.cache / name).exists()]
    if runs and (places.data / "runs").exists():
        targets.append(places.data / "runs")
    for target in targets:
        console.print(f"{target}  ({gibibytes(_size(target))})", markup=False)
    if not targets:
        console.print("There is nothing to remove.")
    elif dry_run:
        console.print("Nothing was removed.")
    elif assume_yes or _agreed():
        for target in targets:
            _remove(target)
        console.print("Removed.")
    else:
        console.print("Nothing was removed.")
        return 1
    file = manifest(places)
    if file.exists():
        packages = " ".join(json.loads(file.read_text(encoding="utf-8"))["apt"])
        console.print(f"System packages stay; setup installed these: apt-get remove {packages}", markup=False)
    console.print(f"The database {places.database} and the files of winners stay.", markup=False)
    return 0


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


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise TunerError("nobody can be asked here: add --yes")
    return input("Remove these? [y/N] ").strip().lower() in {"y", "yes"}
