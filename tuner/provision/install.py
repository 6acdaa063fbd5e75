"""Carries a plan out, saying what it does; what cannot be had is said and passed over, for others may do."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hpl.build.private_apt import AptError, private_apt

from ..user_dirs import UserDirs
from ..user_files import write_text
from .actions import BusyError, SetupError, Steps
from .packages import Package
from .plan import SetupPlan
from .system import candidates, lists_are_old


@dataclass
class Installation:
    """A plan being carried out.

    Attributes:
        done: names of what was installed.
        problems: a sentence for each thing that could not be had.
    """

    places: UserDirs
    console: Console
    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def steps(self) -> Steps:
        """The programs that do it, with their log."""
        return Steps(self.places.cache / "setup.log")

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
        if lists_are_old():
            with self._passing_over(), working(self.console, "apt-get update"):
                self.steps.apt_update()
        found = candidates(packages)
        if found.unknown:
            self._problem(f"this release has no {_names(found.unknown)}, or its package lists cannot be fetched")
        if not found.wanted:
            return
        names = [package.name for package in found.wanted]
        with self._passing_over(), working(self.console, f"apt-get install {' '.join(names)}"):
            self._apt_install(names)
            remember(self.places, names)
            self._told(_names(found.wanted), "system-wide")

    def _apt_install(self, names: Sequence[str]) -> None:
        """Install; where that fails the lists may be older than the servers, so once more with new ones."""
        try:
            self.steps.apt_install(names)
        except BusyError:
            raise
        except SetupError:
            self.steps.apt_update()
            self.steps.apt_install(names)

    def _wheel(self, package: Package) -> None:
        prefix = self.places.private_prefix / "wheels" / package.name
        with self._passing_over(), working(self.console, f"PyPI: {package.name}"):
            self.steps.wheel(package.name, prefix)
            if package.part == "compiler":
                self.steps.compiler_script(prefix, self.places.compiler)
            self._told(package.name, f"in {prefix}")

    def _unpack(self, packages: Sequence[Package]) -> None:
        root = self.places.private_prefix / "debs"
        with self._passing_over(), working(self.console, "downloading and unpacking Debian packages"):
            with private_apt() as apt:
                known = [package for package in packages if apt.knows(package.name)]
                if not known:
                    raise SetupError(
                        "Debian packages: the system's package sources cannot be reached, or have none of them"
                    )
                self.steps.unpack(apt, [package.name for package in known], root)
            self._told(_names(known), f"in {root}")

    def _told(self, names: str, where: str) -> None:
        self.done += names.split(", ")
        self.console.print(f"  installed {where}: {names}")

    def _problem(self, sentence: str) -> None:
        self.problems.append(sentence)
        self.console.print(f"  {sentence}")

    @contextmanager
    def _passing_over(self) -> Iterator[None]:
        try:
            yield
        except BusyError:
            raise
        except (SetupError, AptError) as error:
            self._problem(str(error))


@contextmanager
def working(console: Console, text: str) -> Iterator[None]:
    """Show that something is at work: a spinner and the time on a terminal, a line elsewhere."""
    if not console.is_terminal:
        console.print(f"{text} …")
        yield
        return
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    ) as progress:
        progress.add_task(text)
        yield


def remember(places: UserDirs, names: Sequence[str]) -> None:
    """Note which system packages were installed, for `hpltune clean` to name."""
    text = json.dumps({"apt": sorted({*remembered(places.manifest), *names})}, indent=1)
    write_text(places.manifest, text)


def remembered(manifest: Path) -> list[str]:
    """The system packages that setup installed; none where the note is missing or spoilt."""
    try:
        names = json.loads(manifest.read_text(encoding="utf-8"))["apt"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [str(name) for name in names]


def _names(packages: Sequence[Package]) -> str:
    return ", ".join(package.name for package in packages)
