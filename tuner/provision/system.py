"""Asks the system's own package manager what it knows and has."""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .packages import Package

LISTS = Path("/var/lib/apt/lists")
OLD_S = 24 * 3600.0


@dataclass(frozen=True)
class Candidates:
    """Packages that this system lacks: those that can be installed, and those unknown to its release."""

    wanted: tuple[Package, ...]
    unknown: tuple[Package, ...]


def lists_are_old(lists: Path = LISTS) -> bool:
    """Whether the lists of packages are missing, or older than a day."""
    files = [file for pattern in ("*_InRelease", "*_Packages*") for file in lists.glob(pattern)]
    newest = max((file.stat().st_mtime for file in files), default=0.0)
    return time.time() - newest > OLD_S


def candidates(packages: Sequence[Package]) -> Candidates:
    """Ask apt which packages this release has, and which are installed."""
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
    return Candidates(
        wanted=tuple(package for package, here, new in states if here == "(none)" != new),
        unknown=tuple(package for package, here, new in states if here == new == "(none)"),
    )
