"""NVML: the energy of NVIDIA's GPUs in this machine, through nvidia-ml-py where that is installed.

Source: NVML API, nvmlDeviceGetTotalEnergyConsumption (millijoules since the driver was loaded, from Volta on) and
nvmlDeviceGetPowerUsage (milliwatts). It holds the cards alone, not the machine that they are in.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .contract import GpuPower

MILLI = 1e-3


class Nvml(GpuPower):
    """NVIDIA's GPUs."""

    name = "nvml"

    @staticmethod
    def opened() -> tuple[Any, Sequence[Any]]:
        """Load the library, and return it with the GPUs that it knows."""
        library = import_module("pynvml")
        library.nvmlInit()
        return library, [library.nvmlDeviceGetHandleByIndex(one) for one in range(library.nvmlDeviceGetCount())]

    def power_of(self, device: Any) -> float:
        """Read a GPU, in joules or watts."""
        library = self._library
        ask = library.nvmlDeviceGetTotalEnergyConsumption if self._counts else library.nvmlDeviceGetPowerUsage
        return MILLI * float(ask(device))
