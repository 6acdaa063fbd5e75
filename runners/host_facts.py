"""Facts of this host: pure readings of /proc and /sys, so that tests can give their own."""

import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

ROOT = Path("/")


@dataclass(frozen=True)
class HostFacts:
    """What a result depends on besides its configuration.

    Attributes:
        physical_cores: cores this process may use; hardware threads of one core count once.
        memory_available_bytes: what can be taken without swapping, limits of the control group included.
        governor: frequency governor of the first core; None where the kernel shows none, as in most virtual machines.
        hypervisor: the CPU says that this is a virtual machine.
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

    def to_dict(self) -> dict[str, object]:
        """The facts by name, as JSON can hold them."""
        return asdict(self)


def host_facts(root: Path = ROOT) -> HostFacts:
    """Read the facts of this host.

    Args:
        root: where /proc, /sys and /etc are.
    """
    cpuinfo = _text(root / "proc/cpuinfo")
    cpus = sorted(os.sched_getaffinity(0))
    return HostFacts(
        hostname=platform.node(),
        cpu_model=_field(cpuinfo, "model name") or _field(cpuinfo, "Model") or platform.machine(),
        physical_cores=physical_cores(cpus, root),
        logical_cpus=len(cpus),
        memory_total_bytes=psutil.virtual_memory().total,
        memory_available_bytes=memory_available_bytes(root),
        numa_nodes=max(1, len(list((root / "sys/devices/system/node").glob("node[0-9]*")))),
        governor=_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        hypervisor="hypervisor" in _field(cpuinfo, "flags").split(),
        os_release=_os_name(_text(root / "etc/os-release")),
        kernel=platform.release(),
    )


def physical_cores(cpus: list[int], root: Path = ROOT) -> int:
    """Distinct cores among logical CPUs; each CPU is a core of its own where the kernel does not tell."""
    topology = root / "sys/devices/system/cpu"
    siblings = {_text(topology / f"cpu{cpu}/topology/thread_siblings_list").strip() or str(cpu) for cpu in cpus}
    return max(1, len(siblings))


def memory_available_bytes(root: Path = ROOT) -> int:
    """Bytes that can be taken now without swapping: MemAvailable, or less where a control group limits this process."""
    meminfo = _text(root / "proc/meminfo")
    match = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo, re.MULTILINE)
    available = int(match[1]) * 1024 if match else psutil.virtual_memory().available
    return min([available, *_control_group_rooms(root)])


def _control_group_rooms(root: Path) -> list[int]:
    """What each limiting control group above this process still has room for, versions 1 and 2."""
    rooms = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, limit, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            group = base.joinpath(*parts[:depth])
            allowed, taken = _text(group / limit).strip(), _text(group / used).strip()
            if allowed.isdecimal() and taken.isdecimal():
                rooms.append(max(0, int(allowed) - int(taken)))
    return rooms


def busy_sentence(cores: int) -> str | None:
    """The warning that other programs keep this machine busy, or None: then results will be low and scattered."""
    load = os.getloadavg()[0]
    if load < 0.5 * cores:
        return None
    return f"the machine is busy (load {load:.1f} on {cores} cores): other programs will cost GFLOPS and repeatability"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _field(cpuinfo: str, name: str) -> str:
    match = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else ""


def _os_name(os_release: str) -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return match[1] if match else platform.system()
