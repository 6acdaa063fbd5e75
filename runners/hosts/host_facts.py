"""Reads facts of this host from /proc and /sys below a root, so that tests can give their own files."""

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .system_facts import cpu_list

ROOT = Path("/")


@dataclass(frozen=True)
class HostFacts:
    """Facts of a host on which results depend besides the configuration.

    Attributes:
        physical_cores: cores that this process may use, within the quota of its control group; the hardware threads of
            a core count once.
        memory_available_bytes: memory available without swapping, within the limits of the control group.
        governor: frequency governor of the first core; None if the kernel shows none, as in most virtual machines.
        hypervisor: whether the CPU says that this is a virtual machine.
        sockets, threads_per_core, l3_caches: as the kernel shows them; None if it shows none.
    """

    hostname: str
    cpu_model: str
    physical_cores: int
    logical_cpus: int
    memory_total_bytes: int
    memory_available_bytes: int
    numa_nodes: int
    governor: str | None
    hypervisor: bool
    os_release: str
    kernel: str
    sockets: int | None = None
    threads_per_core: int | None = None
    l3_caches: int | None = None


def host_facts(physical_cores: int, root: Path = ROOT) -> HostFacts:
    """Read the facts of this host.

    Args:
        physical_cores: the number that the peak counts, so that ranks use the same cores.
        root: the folder with /proc, /sys and /etc.
    """
    import psutil  # noqa: PLC0415 - what only reads stored results needs it not

    cpuinfo, cpus = _text(root / "proc/cpuinfo"), root / "sys/devices/system/cpu"
    named = re.search(r'^PRETTY_NAME="?([^"\n]*)', _text(root / "etc/os-release"), re.MULTILINE)
    return HostFacts(
        hostname=platform.node(),
        cpu_model=_field(cpuinfo, "model name") or _field(cpuinfo, "Model") or platform.machine(),
        physical_cores=physical_cores,
        logical_cpus=len(os.sched_getaffinity(0)),
        memory_total_bytes=psutil.virtual_memory().total,
        memory_available_bytes=memory_available_bytes(root),
        numa_nodes=max(1, len(list((root / "sys/devices/system/node").glob("node[0-9]*")))),
        governor=_text(cpus / "cpu0/cpufreq/scaling_governor").strip() or None,
        hypervisor="hypervisor" in _field(cpuinfo, "flags").split(),
        os_release=named[1] if named else platform.system(),
        kernel=platform.release(),
        sockets=len(set(re.findall(r"^physical id\s*:\s*(\d+)", cpuinfo, re.MULTILINE))) or None,
        threads_per_core=len(cpu_list(_text(cpus / "cpu0/topology/thread_siblings_list").strip())) or None,
        l3_caches=len({_text(file) for file in cpus.glob("cpu[0-9]*/cache/index3/shared_cpu_list")} - {""}) or None,
    )


def memory_available_bytes(root: Path = ROOT) -> int:
    """Return the bytes available now without swapping: MemAvailable, or less if a control group limits this process."""
    import psutil  # noqa: PLC0415 - what only reads stored results needs it not

    match = re.search(r"^MemAvailable:\s+(\d+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    return min([int(match[1]) * 1024 if match else psutil.virtual_memory().available, *_control_group_rooms(root)])


def _control_group_rooms(root: Path) -> Iterator[int]:
    """Yield the free bytes of each control group that limits this process, versions 1 and 2.

    The kernel's cache of files that were not used lately counts as free, because the kernel drops it when needed.
    """
    for group in _control_groups(root):
        for limit, used, cached in _MEMORY_FILES:
            allowed, taken = _text(group / limit).strip(), _text(group / used).strip()
            if allowed.isdecimal() and taken.isdecimal():
                files = re.search(rf"^{cached} (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
                yield max(0, int(allowed) - int(taken) + (int(files[1]) if files else 0))


_MEMORY_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""For versions 2 and 1: the files of the limit and the use, and memory.stat's entry for files not used lately."""


def _control_groups(root: Path) -> Iterator[Path]:
    """List the folders of control groups that may limit the memory of this process."""
    mounts = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part]
        for base in dict.fromkeys([mounts / controllers, mounts / "memory"]) if controllers else [mounts]:
            yield from (base.joinpath(*parts[:depth]) for depth in range(len(parts) + 1))


def busy_sentence(cores: int) -> str | None:
    """Return a warning if other programs keep this machine busy, which makes results low and scattered."""
    load = os.getloadavg()[0]
    if load < 0.5 * cores:
        return None
    return (
        f"the machine is busy (load {load:.1f} on {cores} core{'' if cores == 1 else 's'}): other programs will cost "
        "GFLOPS and repeatability"
    )


def confined() -> bool:
    """Return whether taskset or the like forbids CPUs of the control group, to which MPI would bind ranks."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, mine.union(range(os.sysconf("SC_NPROCESSORS_CONF"))))
    try:
        return os.sched_getaffinity(0) != mine
    finally:
        os.sched_setaffinity(0, mine)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _field(cpuinfo: str, name: str) -> str:
    match = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else ""
