"""`hpltune clean`: removes what setup and builds left."""

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.report.model import Report, Sentence
from runners.hosts.copies import CopiedTo, recorded

from ...errors import TunerError
from ...provision.install import installed_packages
from ...user_dirs import UserDirs, hold_folders

OURS = ("builds", "probes", "starts", "source", "prefix", "setup.log", "install.log", "venv-*")
"""In the cache; `install.log` and `venv-*`, for checkouts that cannot be written, are of `.ci/bootstrap`."""


@dataclass(frozen=True)
class PlannedClean:
    """What would be removed, with its size in bytes; nothing has been removed yet.

    Attributes:
        copies: copies of programs that a killed hpltune left on nodes, by the file that records them.
    """

    user_dirs: UserDirs
    targets: tuple[tuple[Path, int], ...]
    copies: Mapping[Path, CopiedTo]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to remove."""
        return not (self.targets or self.copies)

    def report(self) -> Report:
        """The files and folders, and copies on nodes."""
        lines = [f"{target}  ({size_bytes / 1e6:.0f} MB)" for target, size_bytes in self.targets]
        lines += [f"{copied.folder} on {', '.join(copied.nodes)}" for copied in self.copies.values()]
        return Report("Clean", tuple(Sentence(line, unbroken=True) for line in lines))


def plan_clean(user_dirs: UserDirs, *, runs: bool = False) -> PlannedClean:
    """Find our folders in the cache, and with `runs` the folders of runs.

    The database, system packages and the environment of the running program stay.
    """
    there = [target for name in OURS for target in sorted(user_dirs.cache.glob(name)) if target != Path(sys.prefix)]
    if runs and (user_dirs.data / "runs").exists():
        there.append(user_dirs.data / "runs")
    return PlannedClean(user_dirs, tuple((target, _size_bytes(target)) for target in there), recorded(user_dirs.copies))


def clean(planned: PlannedClean, *, dry_run: bool = False) -> Report:
    """Remove what was planned, here and on nodes, and report what stays and how to remove that.

    Args:
        dry_run: remove nothing.

    Raises:
        TunerError: something cannot be removed, or hpltune is at work with it.
    """
    staying = _staying(planned.user_dirs)
    if dry_run or planned.empty:
        said = "There is nothing to remove." if planned.empty else "Nothing was removed."
        return _cleaned(said, staying)
    removed = False
    with hold_folders(planned.user_dirs, alone=True):
        for target, _ in planned.targets:
            _remove(target)
            removed = True
        for record, copied in planned.copies.items():
            silent = copied.remove()
            if silent:
                nodes = ", ".join(silent)
                staying.append(f"{copied.folder} stays on {nodes}, without an answer: run `hpltune clean` again later")
            else:
                _remove(record)
                removed = True
    return _cleaned("Removed." if removed else "Nothing was removed.", staying)


def _cleaned(said: str, staying: Sequence[str]) -> Report:
    return Report("Clean", (Sentence(said), *(Sentence(line, unbroken=True) for line in staying)))


def _staying(user_dirs: UserDirs) -> list[str]:
    """What `clean` never removes, and how to."""
    packages = installed_packages(user_dirs.manifest)
    system = f"System packages stay; setup installed these: apt-get remove {' '.join(packages)}; apt-get autoremove"
    return [
        *([system] if packages else []),
        f"The database {user_dirs.database} and the files of winners stay: rm -r {shlex.quote(str(user_dirs.data))}",
        f"The program itself stays: rm -r {shlex.quote(sys.prefix)}",
    ]


def _size_bytes(target: Path) -> int:
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
