"""The registry of all sources of power: a new one is one file in this folder and one line here."""

from collections.abc import Sequence

from .amd_smi import AmdSmi
from .contract import PowerSource
from .hwmon import Hwmon
from .ipmi import Ipmi
from .meter import WallMeter
from .nvml import Nvml
from .pm_counters import PmCounters
from .rapl import Rapl
from .redfish import Redfish
from .slurm import SlurmEnergy

SOURCES: Sequence[type[PowerSource]] = (WallMeter, Redfish, Ipmi, PmCounters, SlurmEnergy, Hwmon, Rapl, Nvml, AmdSmi)
"""Nearest to the wall first: what these measure holds more of a machine, so it is told before the others."""
