"""Reads facts of the CPUs from /proc/cpuinfo and small files of the kernel, below a root that the caller names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")


@dataclass(frozen=True)
class CpuInfo:
    """The fields of /proc/cpuinfo.

    Attributes:
        processors: the fields of each logical CPU, by the CPU's number.
        general: fields of the whole machine (ARM's "Model", POWER's "platform").
    """

    processors: Mapping[int, Mapping[str, str]]
    general: Mapping[str, str]

    def field(self, cpu: int, name: str) -> str:
        """Return a field of a CPU, else of the machine, else ""."""
        return self.processors.get(cpu, {}).get(name) or self.general.get(name, "")


def read(root: Path = ROOT) -> CpuInfo:
    """Read /proc/cpuinfo below `root`; a file that cannot be read counts as one without CPUs."""
    return parse(text(root / "proc/cpuinfo"))


def parse(cpuinfo: str) -> CpuInfo:
    """Parse the text of /proc/cpuinfo: a block of "name : value" lines for each CPU."""
    processors: dict[int, dict[str, str]] = {}
    general: dict[str, str] = {}
    block = general
    for line in cpuinfo.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if name == "processor" and value.isdecimal():
            block = processors.setdefault(int(value), {})
        elif colon:
            block.setdefault(name, value)
        elif not line.strip():
            block = general
    return CpuInfo(processors, general)


def cpu_flags(root: Path = ROOT) -> frozenset[str]:
    """Return the instruction sets of all CPUs, in the kernel's words ("avx512f", "asimd", "altivec supported")."""
    info = read(root)
    listed = [flags_of(info, cpu) for cpu in info.processors]
    return frozenset.intersection(*listed) if listed else frozenset()


def text(path: Path) -> str:
    """Read a small file of the kernel, stripped; "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def flags_of(info: CpuInfo, cpu: int) -> frozenset[str]:
    """Return the instruction sets of one CPU, in the kernel's words."""
    words = (info.field(cpu, "flags") or info.field(cpu, "Features")).split()
    power = ["altivec supported"] if "altivec" in info.field(cpu, "cpu") else []
    return frozenset([*words, *power])
