"""NVML: the energy of NVIDIA's GPUs in this machine, through nvidia-ml-py where that is installed.

Source: NVML API, nvmlDeviceGetTotalEnergyConsumption (millijoules since the driver was loaded, from Volta on) and
nvmlDeviceGetPowerUsage (milliwatts). It holds the cards alone, not the machine that they are in.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError

MILLI = 1e-3


class Nvml(PowerSource):
    """All GPUs of this machine: their counters, or their power where one has none."""

    name = "nvml"
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
            library = import_module("pynvml")
        except ImportError:
            return None
        try:
            library.nvmlInit()
            devices = [library.nvmlDeviceGetHandleByIndex(one) for one in range(library.nvmlDeviceGetCount())]
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
        library = self._library
        ask = library.nvmlDeviceGetTotalEnergyConsumption if self._counts else library.nvmlDeviceGetPowerUsage
        try:
            return [MILLI * float(ask(device)) for device in self._devices]
        except Exception as error:
            raise PowerSourceError(f"does not tell: {str(error)[:120]!a}") from error
