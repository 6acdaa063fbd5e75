"""AMD SMI: the energy of AMD's GPUs in this machine, through ROCm's `amdsmi` where that is installed.

Source: AMD SMI Python API, amdsmi_get_energy_count (a counter and its resolution in microjoules) and
amdsmi_get_power_info (watts). It holds the cards alone, not the machine that they are in.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Self

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError

MICRO = 1e-6
COUNTERS, POWERS = ("energy_accumulator", "power"), ("current_socket_power", "socket_power", "average_socket_power")
"""What versions of the library call the counter and the power."""


class AmdSmi(PowerSource):
    """All GPUs of this machine: their counters, or their power where one has none."""

    name = "amdsmi"
    what = "the GPUs alone"

    def __init__(self, library: Any, devices: Sequence[Any], *, counts: bool) -> None:
        super().__init__([PowerPart(HERE, f"GPU {number}", counts=counts) for number in range(len(devices))])
        self._library, self._devices, self._counts = library, tuple(devices), counts

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for the library, the driver and its devices."""
        if not places.here:
            return None
        try:
            library = import_module("amdsmi")
        except (ImportError, OSError, KeyError):  # it loads ROCm's library as it is imported
            return None
        try:
            library.amdsmi_init()
            devices = list(library.amdsmi_get_processor_handles())
        except Exception:  # noqa: BLE001 - without a driver it says so in ways of its own
            return None
        if not devices:
            return None
        found = cls(library, devices, counts=True)
        try:
            found.read()
        except PowerSourceError:
            found = cls(library, devices, counts=False)
            found.read()
        return found

    def read(self) -> Sequence[float]:
        """Read all GPUs, in joules or watts."""
        try:
            return [self._read(device) for device in self._devices]
        except PowerSourceError:
            raise
        except Exception as error:
            raise PowerSourceError(f"does not tell: {str(error)[:120]!a}") from error

    def _read(self, device: Any) -> float:
        if self._counts:
            told = self._library.amdsmi_get_energy_count(device)
            return MICRO * float(told["counter_resolution"]) * _known(told, COUNTERS)
        return _known(self._library.amdsmi_get_power_info(device), POWERS)


def _known(told: Mapping[str, Any], names: Sequence[str]) -> float:
    """The first figure of several names that is one; a card that lacks it says "N/A".

    Raises:
        PowerSourceError: none is.
    """
    for name in names:
        if isinstance(told.get(name), int | float):
            return float(told[name])
    raise PowerSourceError("does not tell: neither energy nor power is known of a card")
