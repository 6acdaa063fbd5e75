"""SimGrid's SMPI on this machine: an MPI whose ranks live in one process, in virtual time."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import HplError

OLDEST, NEWEST = (3, 32), (3, 36)
"""Tested with 3.32 (Debian 12); the C functions and options we use have the same names up to 3.36 (Debian 13)."""
ADVICE = "`hpltune setup --with simgrid` installs it (Debian and Ubuntu: libsimgrid-dev)"


class SimGridError(HplError):
    """SimGrid is missing or of a version that does not fit."""


@dataclass(frozen=True)
class SimGrid:
    """An installed SimGrid: its compiler wrapper, and the program that runs what it made."""

    version: str
    smpicc: Path
    smpimain: Path


def find_simgrid() -> SimGrid:
    """The SimGrid on PATH.

    Raises:
        SimGridError: there is none, or its version is not one we can use; the sentence says how to get it.
    """
    smpicc, smpirun = shutil.which("smpicc"), shutil.which("smpirun")
    if smpicc is None or smpirun is None:
        raise SimGridError(f"virtual clusters need SimGrid, which is not here: {ADVICE}")
    script = Path(smpirun).read_text(encoding="utf-8", errors="replace")
    said = re.search(r"SimGrid version (\d+)\.(\d+)\S*", script)
    if said is None:
        raise SimGridError(f"{smpirun} does not say which SimGrid it belongs to: {ADVICE}")
    version = (int(said[1]), int(said[2]))
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
    found = next((path for path in named if path.is_file()), None)
    return found or min(smpirun.resolve().parent.parent.glob("lib*/**/simgrid/smpimain"), default=None)
