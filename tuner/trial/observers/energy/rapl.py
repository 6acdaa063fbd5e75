"""RAPL: the energy counters of processors and their memory, which Linux has as files.

Source: the kernel's Documentation/power/powercap/powercap.rst. Zones "package-N" hold those of cores and graphics,
which are left out; "dram" is beside them; "psys" holds all of a laptop's board, and is left out because it holds the
packages. Since CVE-2020-8694 only root may read the counters.
"""

from typing import Self

from .contract import HERE, FilePower, Places, PowerPart, PowerSourceError, first_figure, read_text

ZONES = "sys/class/powercap"


class Rapl(FilePower):
    """The counters of all packages and their memory on this machine."""

    name = "rapl"
    what = "processors and their memory"
    unit = 1e-6

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
                range_j = cls.unit * first_figure(read_text(zone / "max_energy_range_uj"))
            except PermissionError as error:
                raise PowerSourceError(
                    f"cannot be read: {counter} is for root alone. `sudo chmod a+r /{ZONES}/intel-rapl*/energy_uj` "
                    "lets everybody read it until the next start of the machine"
                ) from error
            package = f" of package {zone.name.split(':')[1]}" if name == "dram" else ""
            parts.append(PowerPart(HERE, f"{name[:40]}{package}", counts=True, range_j=range_j))
            files.append(counter)
        return cls(parts, files) if parts else None
