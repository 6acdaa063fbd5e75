"""Carries out a plan and says what it does; what cannot be installed is said and passed over."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hpl.build.private_apt import AptError, PrivateApt, private_apt

from ..events import Listener, Notice, WorkEnded, WorkStarted
from ..user_dirs import UserDirs
from ..user_files import write_text
from .actions import BusyError, SetupError, Steps
from .plan import Package, SetupPlan

LISTS = Path("/var/lib/apt/lists")
OLD_S = 24 * 3600.0


@dataclass(frozen=True)
class Installers:
    """The programs that install packages on this machine.

    Attributes:
        python: the interpreter whose pip installs wheels.
        apt_lists: where the system's apt keeps its lists of packages.
        apt: opens an apt that needs no root.
        as_root: the system's package manager may be used.
        system: the root of the system's own folders, in which they install.
    """

    python: Path
    as_root: bool
    apt_lists: Path = LISTS
    apt: Callable[[], AbstractContextManager[PrivateApt]] = private_apt
    system: Path = Path("/")

    @classmethod
    def of_this_process(cls) -> "Installers":
        """Those that this process can use."""
        return cls(Path(sys.executable), os.geteuid() == 0)


@dataclass
class Installation:
    """Carries out plans, and remembers what came of it.

    Attributes:
        done: names of what was installed.
        problems: a sentence for each thing that could not be had.
    """

    user_dirs: UserDirs
    listener: Listener
    installers: Installers = field(default_factory=Installers.of_this_process)
    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def steps(self) -> Steps:
        """The programs that do it, with their log."""
        return Steps(self.user_dirs.cache / "setup.log", self.installers.python)

    def carry_out(self, chosen: SetupPlan) -> None:
        """Install what a plan says.

        Raises:
            BusyError: another package manager is at work; nothing else is tried.
        """
        if chosen.system:
            self._system(chosen.system)
        for package in chosen.wheels:
            self._wheel(package)
        if chosen.unpacked:
            self._unpack(chosen.unpacked)

    def _system(self, packages: Sequence[Package]) -> None:
        if lists_are_old(self.installers.apt_lists):
            with self._passing_over(), self._working("apt-get update"):
                self.steps.apt_update()
        wanted, unknown = candidates(packages)
        if unknown:
            self._problem(f"this release has no {_names(unknown)}, or its package lists cannot be fetched")
        if not wanted:
            return
        names = [package.name for package in wanted]
        with self._passing_over(), self._working(f"apt-get install {' '.join(names)}"):
            self._apt_install(names)
            note_installed(self.user_dirs, names)
            self._installed(_names(wanted), "system-wide")

    def _apt_install(self, names: Sequence[str]) -> None:
        """Install; if that fails, try once more with new lists: those here may be older than the servers'."""
        try:
            self.steps.apt_install(names)
        except BusyError:
            raise
        except SetupError:
            self.steps.apt_update()
            self.steps.apt_install(names)

    def _wheel(self, package: Package) -> None:
        prefix = self.user_dirs.private_prefix / "wheels" / package.name
        with self._passing_over(), self._working(f"PyPI: {package.name}"):
            self.steps.wheel(package.name, prefix)
            if package.part == "compiler":
                self.steps.compiler_script(prefix, self.user_dirs.compiler)
            self._installed(package.name, f"in {prefix}")

    def _unpack(self, packages: Sequence[Package]) -> None:
        root = self.user_dirs.private_prefix / "debs"
        with self._passing_over(), self._working("downloading and unpacking Debian packages"):
            with self.installers.apt() as apt:
                known = [package for package in packages if apt.knows(package.name)]
                if not known:
                    raise SetupError(
                        "Debian packages: the system's package sources cannot be reached, or have none of them"
                    )
                self.steps.unpack(apt, [package.name for package in known], root)
            self._installed(_names(known), f"in {root}")

    def _installed(self, names: str, where: str) -> None:
        self.done += names.split(", ")
        self.listener(Notice(f"  installed {where}: {names}"))

    def _problem(self, sentence: str) -> None:
        self.problems.append(sentence)
        self.listener(Notice(f"  {sentence}"))

    @contextmanager
    def _passing_over(self) -> Iterator[None]:
        try:
            yield
        except BusyError:
            raise
        except (SetupError, AptError) as error:
            self._problem(str(error))

    @contextmanager
    def _working(self, text: str) -> Iterator[None]:
        """Tell the listener what is at work while the block runs."""
        self.listener(WorkStarted(text))
        try:
            yield
        finally:
            self.listener(WorkEnded())


def note_installed(user_dirs: UserDirs, names: Sequence[str]) -> None:
    """Note which system packages were installed, for `hpltune clean` to name."""
    text = json.dumps({"apt": sorted({*installed_packages(user_dirs.manifest), *names})}, indent=1)
    write_text(user_dirs.manifest, text)


def installed_packages(manifest: Path) -> list[str]:
    """The system packages that setup installed; none where the note is missing or spoilt."""
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))["apt"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [str(name) for name in names]


def _names(packages: Sequence[Package]) -> str:
    return ", ".join(package.name for package in packages)


def lists_are_old(lists: Path = LISTS) -> bool:
    """Whether the lists of packages are missing, or older than a day."""
    files = [file for pattern in ("*_InRelease", "*_Packages*") for file in lists.glob(pattern)]
    return time.time() - max((file.stat().st_mtime for file in files), default=0.0) > OLD_S


def candidates(packages: Sequence[Package]) -> tuple[list[Package], list[Package]]:
    """Ask apt which packages this system lacks: those that can be installed, and those unknown to its release."""
    done = subprocess.run(
        ["apt-cache", "policy", *(package.name for package in packages)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {
        name: (installed, candidate)
        for name, installed, candidate in re.findall(
            r"^(\S+):\n  Installed: (\S+)\n  Candidate: (\S+)", done.stdout, re.MULTILINE
        )
    }
    states = [(package, *found.get(package.name, ("(none)", "(none)"))) for package in packages]
    wanted = [package for package, here, new in states if here == "(none)" != new]
    return wanted, [package for package, here, new in states if here == new == "(none)"]
