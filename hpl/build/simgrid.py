"""Finds SimGrid's SMPI, an MPI whose ranks run in one process and in virtual time."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import HplError

OLDEST, NEWEST = (3, 32), (3, 36)
"""Tested with 3.32 (Debian 12); the C functions and options that we use have the same names up to 3.36 (Debian 13)."""
ADVICE = "`hpltune setup «with» simgrid` installs it (Debian and Ubuntu: libsimgrid-dev)"


class SimGridError(HplError):
    """SimGrid is missing, or its version is not supported."""


@dataclass(frozen=True)
class SimGrid:
    """An installed SimGrid: its compiler wrapper, and the program that runs simulated programs."""

    version: str
    smpicc: Path
    smpimain: Path


def find_simgrid() -> SimGrid:
    """Find the SimGrid on PATH.

    Raises:
        SimGridError: there is none, or its version is not supported; the sentence says how to get one.
    """
    smpicc, smpirun = shutil.which("smpicc"), shutil.which("smpirun")
    if smpicc is None or smpirun is None:
        raise SimGridError(f"virtual clusters need SimGrid, which is not here: {ADVICE}")
    script = Path(smpirun).read_text(encoding="utf-8", errors="replace")
    version_text = re.search(r"SimGrid version (\d+)\.(\d+)\S*", script)
    if version_text is None:
        raise SimGridError(f"{smpirun} does not say which SimGrid it belongs to: {ADVICE}")
    version = (int(version_text[1]), int(version_text[2]))
    shown = f"{version[0]}.{version[1]}"
    if not OLDEST <= version <= NEWEST:
        supported = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
        raise SimGridError(f"SimGrid {shown} ({smpirun}) does not fit: hpltune works with {supported}; {ADVICE}")
    smpimain = _smpimain(script, Path(smpirun))
    if smpimain is None:
        raise SimGridError(f"SimGrid {shown} is incomplete: there is no smpimain beside {smpirun}; {ADVICE}")
    return SimGrid(shown, Path(smpicc), smpimain)


def _smpimain(script: str, smpirun: Path) -> Path | None:
    named = (Path(path) for path in re.findall(r"/[^\s\"']*/smpimain", script))
    existing = next((path for path in named if path.is_file()), None)
    return existing or min(smpirun.resolve().parent.parent.glob("lib*/**/simgrid/smpimain"), default=None)
