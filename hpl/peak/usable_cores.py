"""Counts the physical cores that this process may use, by its affinity, hardware threads and control groups."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .cpuinfo import ROOT, CpuInfo, text


@dataclass(frozen=True)
class UsableCores:
    """The cores that count.

    Attributes:
        cpus: one logical CPU of each physical core, in order.
        reasoning: a sentence that says how they were counted.
    """

    cpus: tuple[int, ...]
    reasoning: str


def usable_cores(info: CpuInfo, root: Path = ROOT, usable: Collection[int] | None = None) -> UsableCores:
    """Count the physical cores behind the logical CPUs.

    Args:
        usable: the logical CPUs on which this process may run. None asks the scheduler, which knows cpusets and
            taskset; for another root None takes all CPUs.
    """
    if usable is None:
        usable = os.sched_getaffinity(0) if root == ROOT else info.processors
    cpus = sorted(usable) or [0]
    cores: dict[str, int] = {}
    for cpu in cpus:
        cores.setdefault(_core_of(cpu, info, root), cpu)
    chosen = tuple(cores.values())
    sentence = f"{len(chosen)} physical core{'s' if len(chosen) > 1 else ''}: {_counted(cpus, chosen, info)}"
    quota = min(_quotas(root), default=float(len(chosen)))
    if quota < len(chosen):
        chosen = chosen[: max(1, int(quota))]
        sentence += f", limited to {len(chosen)} by the control group's quota of {quota:g} CPUs"
    return UsableCores(chosen, f"{sentence}.")


def _counted(cpus: Collection[int], cores: Collection[int], info: CpuInfo) -> str:
    part = f"{len(cpus)} of {len(info.processors)}" if len(cpus) < len(info.processors) else f"all {len(cpus)}"
    threads = " (hardware threads of one core count once)" if len(cores) < len(cpus) else ""
    return f"{part} logical CPUs may be used by this process{threads}"


def _core_of(cpu: int, info: CpuInfo, root: Path) -> str:
    """Name the core of a logical CPU, alike for its hardware threads: by sysfs, else /proc/cpuinfo, else alone."""
    siblings = text(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    if siblings:
        return siblings
    package, core = info.field(cpu, "physical id"), info.field(cpu, "core id")
    return f"package {package} core {core}" if core else f"cpu {cpu}"


def _quotas(root: Path) -> Iterator[float]:
    """Yield the numbers of CPUs that the control groups of this process and their parents allow."""
    for line in text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, inside = rest.partition(":")
        for mount in _mounts(controllers, root / "sys/fs/cgroup"):
            group = mount / inside.lstrip("/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(mount):
                    yield from _quota(folder)


def _mounts(controllers: str, cgroups: Path) -> list[Path]:
    """List where a group of /proc/self/cgroup may be mounted: a line of version 2 names no controllers."""
    if not controllers:
        return [cgroups]
    return [cgroups / controllers, cgroups / "cpu"] if "cpu" in controllers.split(",") else []


def _quota(folder: Path) -> Iterator[float]:
    allowed, period = [*text(folder / "cpu.max").split(), "", ""][:2]
    if not allowed:
        allowed, period = text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")
    if allowed.isdecimal() and period.isdecimal() and int(period) > 0:
        yield int(allowed) / int(period)
