"""AMD SMI: the energy of AMD's GPUs in this machine, through ROCm's `amdsmi` where that is installed.

Source: AMD SMI Python API, amdsmi_get_energy_count (a counter and its resolution in microjoules) and
amdsmi_get_power_info (watts). It holds the cards alone, not the machine that they are in.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .contract import GpuPower, PowerSourceError

MICRO = 1e-6
COUNTERS, POWERS = ("energy_accumulator", "power"), ("current_socket_power", "socket_power", "average_socket_power")
"""What versions of the library call the counter and the power."""


class AmdSmi(GpuPower):
    """AMD's GPUs."""

    name = "amdsmi"

    @staticmethod
    def opened() -> tuple[Any, Sequence[Any]]:
        """Load the library, which loads ROCm's as it is imported, and return it with the GPUs that it knows."""
        library = import_module("amdsmi")
        library.amdsmi_init()
        return library, library.amdsmi_get_processor_handles()

    def power_of(self, device: Any) -> float:
        """Read a GPU, in joules or watts."""
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
