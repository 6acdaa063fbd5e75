"""RAPL: the energy counters of processors and their memory, which Linux has as files.

Source: the kernel's Documentation/power/powercap/powercap.rst. Zones "package-N" hold those of cores and graphics,
which are left out; "dram" is beside them; "psys" holds all of a laptop's board, and is left out because it holds the
packages. Since CVE-2020-8694 only root may read the counters.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError, first_figure, read_figures, read_text

ZONES = "sys/class/powercap"
MICRO = 1e-6


class Rapl(PowerSource):
    """The counters of all packages and their memory on this machine."""

    name = "rapl"
    what = "processors and their memory"

    def __init__(self, parts: Sequence[PowerPart], files: Sequence[Path]) -> None:
        super().__init__(parts)
        self._files = tuple(files)

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for zones that measure a package or its memory."""
        if not places.here:
            return None
        parts, files = [], []
        for zone in sorted((places.root / ZONES).glob("intel-rapl:*")):
            counter = zone / "energy_uj"
            try:
                name = read_text(zone / "name")
                top = zone.name.count(":") == 1
                if not (name.startswith("package") if top else name == "dram"):
                    continue
                first_figure(read_text(counter))
                range_j = MICRO * first_figure(read_text(zone / "max_energy_range_uj"))
            except PermissionError as error:
                raise PowerSourceError(
                    f"cannot be read: {counter} is for root alone. `sudo chmod a+r /{ZONES}/intel-rapl*/energy_uj` "
                    "lets everybody read it until the next start of the machine"
                ) from error
            except OSError as error:
                raise PowerSourceError(f"cannot be read: {error.filename}: {error.strerror}") from error
            package = f" of package {zone.name.split(':')[1]}" if name == "dram" else ""
            parts.append(PowerPart(HERE, f"{name[:40]}{package}", counts=True, range_j=range_j))
            files.append(counter)
        return cls(parts, files) if parts else None

    def read(self) -> Sequence[float]:
        """Read the counters in joules."""
        return read_figures(self._files, MICRO)
