"""Finds the clock that a CPU's maker advertises, as the TOP500 counts it: not turbo, and not throttled by AVX."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .cpuinfo import ROOT, CpuInfo, text


@dataclass(frozen=True)
class AdvertisedClock:
    """A clock in GHz and its source; 0 GHz where it is not known."""

    ghz: float
    origin: str


UNKNOWN = AdvertisedClock(0.0, "nothing on this machine tells the clock")


def advertised_clock(info: CpuInfo, cpu: int, root: Path = ROOT) -> AdvertisedClock:
    """Read the clock of one logical CPU from the source that is closest to the maker's figure."""
    sources = _X86 if info.field(cpu, "flags") else _OTHERS
    found = (source(info, cpu, root) for source in sources)
    return next((clock for clock in found if clock is not None), UNKNOWN)


def _model_name(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001 - all sources are asked alike
    named = re.search(r"@\s*(\d+(?:\.\d+)?)\s*GHz", info.field(cpu, "model name"))
    return AdvertisedClock(float(named[1]), "model name") if named else None


def _base_frequency(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "cpufreq/base_frequency"), 1e6, "the kernel's base_frequency")


def _nominal(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "acpi_cppc/nominal_freq"), 1e3, "the firmware's nominal frequency")


def _time_stamp_counter(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    """Read x86's time stamp counter, which runs at the advertised clock; BogoMIPS are twice that clock in MHz."""
    if "constant_tsc" not in info.field(cpu, "flags").split():
        return None
    return _clock(info.field(cpu, "bogomips"), 2e3, "the time stamp counter, BogoMIPS / 2")


def _highest(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "cpufreq/cpuinfo_max_freq"), 1e6, "the kernel's highest frequency")


def _cpuinfo_clock(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    """Read POWER's field "clock : 3800.000000MHz"."""
    return _clock(info.field(cpu, "clock").removesuffix("MHz"), 1e3, "/proc/cpuinfo")


def _cpuinfo_mhz(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(info.field(cpu, "cpu MHz"), 1e3, "the clock of this moment in /proc/cpuinfo")


def _clock(number: str, per_ghz: float, origin: str) -> AdvertisedClock | None:
    try:
        ghz = float(number) / per_ghz
    except ValueError:
        return None
    return AdvertisedClock(ghz, origin) if ghz > 0 else None


def _cpu_folder(root: Path, cpu: int) -> Path:
    return root / f"sys/devices/system/cpu/cpu{cpu}"


_Source = Callable[[CpuInfo, int, Path], AdvertisedClock | None]
_X86: tuple[_Source, ...] = (_model_name, _base_frequency, _nominal, _time_stamp_counter, _cpuinfo_mhz, _highest)
_OTHERS: tuple[_Source, ...] = (_nominal, _cpuinfo_clock, _base_frequency, _highest, _model_name)
