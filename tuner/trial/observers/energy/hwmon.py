"""hwmon: power meters on the board, which Linux has as files.

Source: the kernel's Documentation/hwmon/sysfs-interface.rst: power in microwatts, energy in microjoules. Only chips
count that measure a whole node or all of its processors: others (a graphics card, one rail of a board) are a part that
nobody can add to the rest.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Self

from .contract import HERE, FilePower, Places, PowerPart, PowerSourceError, first_figure, read_text

CHIPS = "sys/class/hwmon"
MEASURED = (
    ("power_meter", "*", ("power*_average", "power*_input")),
    ("ibmpowernv", "System*", ("power*_input",)),
    ("corsairpsu", "power total", ("power*_input",)),
    ("amd_energy", "Esocket*", ("energy*_input",)),
)
"""Names of chips, the labels of what is measured there, and its files: the nearest to the wall first."""


class Hwmon(FilePower):
    """The power meters of this machine of the first kind that it has."""

    name = "hwmon"
    what = "what the board's meters measure"
    unit = 1e-6

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for chips whose meaning is known."""
        if not places.here:
            return None
        chips = sorted((places.root / CHIPS).glob("hwmon*"))
        try:
            for chip_name, label, patterns in MEASURED:
                found = [one for chip in chips for one in _measured(chip, chip_name, label, patterns)]
                if found:
                    for _, file in found:
                        first_figure(read_text(file))
                    return cls([part for part, _ in found], [file for _, file in found])
        except PermissionError as error:
            raise PowerSourceError(
                f"cannot be read: {error.filename} is for root alone: `sudo chmod a+r` it"
            ) from error
        return None


def _measured(chip: Path, name: str, label: str, patterns: Sequence[str]) -> Iterator[tuple[PowerPart, Path]]:
    """Yield what a chip of this name measures, each once."""
    try:
        if read_text(chip / "name") != name:
            return
    except OSError:
        return
    for pattern in patterns:
        files = sorted(chip.glob(pattern))
        for file in files:
            named = chip / f"{file.name.rpartition('_')[0]}_label"
            said = read_text(named) if named.exists() else ""
            if label == "*" or fnmatch(said, label):
                counts = file.name.startswith("energy")
                yield PowerPart(HERE, f"{chip.name} {said[:40] or file.name}", counts=counts), file
        if files:
            return
