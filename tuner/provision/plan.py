"""What will be installed, decided before anything is."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ..places import Places
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
        return bool(self.system or self.unpacked or self.wheels)

    def sentences(self, places: Places) -> list[str]:
        """What will be done, for the user."""
        found = []
        if self.system:
            found.append(f"With apt-get, system-wide: {_names(self.system)}")
        if self.wheels:
            found.append(f"From PyPI into {places.private_prefix}: {_names(self.wheels)}")
        if self.unpacked:
            found.append(
                f"From the system's package sources, unpacked into {places.private_prefix}: {_names(self.unpacked)}"
            )
        return found


def plan(missing: Needs, extras: Sequence[str], *, private: bool) -> SetupPlan:
    """Choose packages.

    As root on Debian or Ubuntu everything comes through apt-get; otherwise wheels, and where apt can at least
    download, Debian's BLAS libraries beside them.

    Args:
        extras: keys of EXTRAS.
        private: use the private prefix even as root.
    """
    added = tuple(EXTRAS[name] for name in dict.fromkeys(extras))
    parts = [part for part in ("compiler", "mpi", "blas") if getattr(missing, part)]
    has_apt = shutil.which("apt-get") is not None
    if has_apt and os.geteuid() == 0 and not private:
        return SetupPlan(system=tuple(package for package in APT if package.part in parts), wheels=added)
    wheels = tuple(package for package in WHEELS if package.part in parts)
    unpacked = UNPACKED if has_apt and missing.blas else ()
    return SetupPlan(unpacked=unpacked, wheels=tuple(dict.fromkeys((*wheels, *added))))


def known_to_apt(packages: Sequence[Package]) -> tuple[Package, ...]:
    """Those that this release has and that are not installed already."""
    done = subprocess.run(
        ["apt-cache", "policy", *(package.name for package in packages)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(\S+):\n  Installed: (\S+)\n  Candidate: (\S+)", done.stdout, re.MULTILINE)
    wanted = {name for name, installed, candidate in found if candidate != "(none)" and installed == "(none)"}
    return tuple(package for package in packages if package.name in wanted)


def _names(packages: Sequence[Package]) -> str:
    return ", ".join(f"{package.name} ({package.why})" for package in packages)
