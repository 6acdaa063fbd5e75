"""Decides what will be installed, before anything is."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from ..user_dirs import UserDirs
from .actions import SetupError
from .needs import Needs
from .packages import APT, EXTRAS, UNPACKED, WHEELS, Package


@dataclass(frozen=True)
class SetupPlan:
    """Packages by the way they come.

    Attributes:
        system: installed with apt-get as root.
        unpacked: Debian packages for the private prefix.
        wheels: PyPI's for the private prefix.
    """

    system: tuple[Package, ...] = ()
    unpacked: tuple[Package, ...] = ()
    wheels: tuple[Package, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.packages)

    @property
    def packages(self) -> tuple[Package, ...]:
        """All of them."""
        return (*self.system, *self.wheels, *self.unpacked)

    def lines(self, user_dirs: UserDirs) -> list[str]:
        """Say what will be done: a line for each way, and its packages below."""
        ways = (
            ("With apt-get, system-wide", self.system),
            (f"From PyPI, into {user_dirs.private_prefix}", self.wheels),
            (f"From the system's package sources, unpacked into {user_dirs.private_prefix}", self.unpacked),
        )
        found = []
        for way, packages in ways:
            if packages:
                found.append(f"{way} (about {sum(package.size_mb for package in packages)} MB of disk):")
                found += [f"  {package.name:22}{package.why}" for package in packages]
        return found


def plan(missing: Needs, extras: Sequence[str] = (), *, as_root: bool) -> SetupPlan:
    """Choose packages.

    As root on Debian or Ubuntu everything comes through apt-get. Otherwise wheels are installed, and Debian's BLAS
    libraries if there is an apt to download them.

    Args:
        extras: keys of EXTRAS.
        as_root: the system's package manager may be used; otherwise everything goes into the private prefix.
    """
    chosen = [EXTRAS[name] for name in dict.fromkeys(extras)]
    added = tuple(package for package in chosen if package.source == "PyPI")
    from_apt = tuple(package for package in chosen if package.source == "apt")
    parts = [part for part in ("compiler", "mpi", "blas") if getattr(missing, part)]
    has_apt = shutil.which("apt-get") is not None
    if has_apt and as_root:
        return SetupPlan(system=(*(package for package in APT if package.part in parts), *from_apt), wheels=added)
    if from_apt:
        raise SetupError(f"{from_apt[0].name} comes only through apt-get as root: ask whoever is to install it")
    wheels = tuple(package for package in WHEELS if package.part in parts)
    unpacked = UNPACKED if has_apt and missing.blas else ()
    return SetupPlan(unpacked=unpacked, wheels=tuple(dict.fromkeys((*wheels, *added))))
