"""Finds the GPUs of this machine: their memory, their theoretical peak in double precision, and the CPUs near them.

NVIDIA's are told by `nvidia-smi`, AMD's by files of the kernel below a root that the caller names. Sources of the peaks
(FP64, with tensor or matrix cores where that is more): NVIDIA's data sheets of V100, A100, H100, H200 and HGX B200, and
AMD's of MI210 to MI355X. The kernel shows each of the two dies of an MI250X as a GPU of its own.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import HplError
from .terms import Gpu

ROOT = Path("/")
PATIENCE_S = 30.0
MOST = 64
"""GPUs of one machine that are looked at."""
AMD_ID = "0x1002"
VISIBLE = {"NVIDIA": ("CUDA_VISIBLE_DEVICES",), "AMD": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")}
"""Variables with which users hide GPUs from programs."""

PEAKS: Mapping[str, float] = {
    "GB200": 40e3, "B200": 37e3, "H200 NVL": 60e3, "H200": 67e3, "GH200": 67e3, "H100 NVL": 60e3, "H100 PCIe": 51e3,
    "H100": 67e3, "A100": 19.5e3, "V100-PCIE": 7e3, "V100": 7.8e3,
    "MI355X": 78.6e3, "MI350X": 72.1e3, "MI325X": 163.4e3, "MI300X": 163.4e3, "MI300A": 122.6e3, "MI250X": 47.9e3,
    "MI250": 45.3e3, "MI210": 45.3e3, "0x74a1": 163.4e3, "0x74a0": 122.6e3, "0x7408": 47.9e3, "0x740f": 45.3e3,
}  # fmt: skip
"""GFLOPS of one GPU by a part of its model's name, or by the kernel's number of it; the first that fits counts."""


class NoGpuError(HplError):
    """A program computes on GPUs, and this machine lacks them, or nobody knows their peak."""


def gpus(root: Path = ROOT) -> tuple[Gpu, ...]:
    """List the GPUs that programs can use; empty where there is none."""
    found: list[Gpu] = []
    for vendor, devices in (("NVIDIA", _of_nvidia(root)), ("AMD", _of_amd(root))):
        found += _visible(tuple(devices), [os.environ[name] for name in VISIBLE[vendor] if name in os.environ])
    return tuple(found[:MOST])


def for_program(program: str, vendor: str, root: Path = ROOT) -> tuple[Gpu, ...]:
    """List the GPUs on which a program computes.

    Raises:
        NoGpuError: there is none of its vendor.
    """
    found = gpus(root)
    fitting = tuple(gpu for gpu in found if gpu.vendor == vendor)
    if not fitting:
        other = f" (found: {', '.join(dict.fromkeys(gpu.model for gpu in found))})" if found else ""
        raise NoGpuError(f"{program} computes on GPUs of {vendor}, and this machine shows none{other}")
    return fitting


def peak_gflops(found: Sequence[Gpu]) -> tuple[float, str]:
    """Return the peak of some GPUs together, and the sentence that says where it is from.

    Raises:
        NoGpuError: the peak of one is not known.
    """
    total = 0.0
    for gpu in found:
        known = [gflops for name, gflops in PEAKS.items() if name.lower() in gpu.model.lower()]
        if not known:
            raise NoGpuError(f"the peak of {gpu.model} in double precision is not known: give that of all with ⟦rpeak⟧")
        total += known[0]
    models = ", ".join(dict.fromkeys(gpu.model for gpu in found))
    return total, f"{len(found)} x {models}: {total:g} GFLOPS in double precision by the vendor's data sheet."


def _of_nvidia(root: Path) -> Iterator[Gpu]:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return
    command = (smi, "--query-gpu=name,memory.total,pci.bus_id", "--format=csv,noheader,nounits")
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return
    for line in said.stdout.splitlines()[:MOST]:
        name, _, rest = line.strip().partition(",")
        memory_mib, _, bus = (part.strip() for part in rest.partition(","))
        if name and memory_mib.isdecimal():
            yield _near(root / "sys/bus/pci/devices" / bus[-12:].lower(), "NVIDIA", name, int(memory_mib) * 2**20)


def _of_amd(root: Path) -> Iterator[Gpu]:
    for device in sorted((root / "sys/class/drm").glob("card[0-9]*/device"), key=lambda path: path.parent.name):
        memory = _text(device / "mem_info_vram_total")
        if _text(device / "vendor") == AMD_ID and memory.isdecimal() and device.parent.name[4:].isdecimal():
            model = _text(device / "product_name") or f"GPU {_text(device / 'device')}"
            yield _near(device, "AMD", model, int(memory))


def _near(device: Path, vendor: str, model: str, memory_bytes: int) -> Gpu:
    node, printable = _text(device / "numa_node"), "".join(letter for letter in model if letter.isprintable())
    cpus = _text(device / "local_cpulist")
    return Gpu(vendor, printable[:80], memory_bytes, int(node) if node.isdecimal() else None, cpus)


def _visible(found: tuple[Gpu, ...], lists: Sequence[str]) -> tuple[Gpu, ...]:
    """Leave out what a variable hides: it lists numbers, or names that only the driver knows."""
    for text in lists:
        listed = [word.strip() for word in text.split(",") if word.strip()]
        numbers = [int(word) for word in listed if word.isdecimal()]
        known = len(numbers) == len(listed)
        found = tuple(found[number] for number in numbers if number < len(found)) if known else found[: len(listed)]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return ""
