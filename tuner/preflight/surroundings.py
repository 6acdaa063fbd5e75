"""Checks of what else goes on: other programs, the disk of the runs, the network between nodes."""

import re
from collections.abc import Iterator

from .contract import NodeView, Spoiler, notes, warns

LOADED = 0.5
"""Load for each CPU from which on a machine is busy."""
LEAST_GIB, LEAST_FILES, LEAST_MB_S = 0.5, 1000.0, 1.0
"""A study writes some megabytes, its programs some hundred; each run takes five files."""
GIGABIT_MBIT_S = 1000.0
_PROGRAM = re.compile(r"(\d{1,4}\.\d) ([\w.+?-]{1,20})")
_NIC = re.compile(r"([\w.:-]{1,20}): (\d{1,7})(?=;|$)")


def other_programs(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the last minute was busy, with the programs that take cores now; these alone may be of a moment."""
    programs = _PROGRAM.findall(view.facts.get("programs", ""))
    load = view.number("load") or 0.0
    of = f" of {view.text('cpus_allowed')} CPUs" if view.number("cpus_allowed") else ""
    named = ", ".join(f"{name} takes {cores}" for cores, name in programs) + of
    if load >= LOADED:
        now = f"; now {named}" if programs else ""
        yield warns(
            f"the machine was busy in the last minute (load {load:.1f} for each CPU{now}): other programs will cost "
            "GFLOPS and repeatability"
        )
    elif programs:
        yield notes(f"other programs take cores at this moment ({named})")


def disk(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the disk of the runs is nearly full."""
    free_gib, files = view.limit("work_free_gib"), view.limit("work_free_files")
    if free_gib < LEAST_GIB:
        yield warns(f"the disk of the runs has {free_gib:.4g} GiB left")
    if files < LEAST_FILES:
        yield warns(f"the disk of the runs can take {files:,.0f} more files")


def disk_rate(view: NodeView) -> Iterator[Spoiler]:
    """Yield that files of the runs are written slowly."""
    if (mb_s := view.limit("work_mb_s")) < LEAST_MB_S / view.plan.nodes:  # they may share it, and write at once
        yield warns(f"files in the folder of the runs are written at {mb_s:.1f} MB/s")


def network(view: NodeView) -> Iterator[Spoiler]:
    """Yield which interfaces MPI sends over, and that a faster one is not used."""
    if view.plan.nodes < 2:
        return
    speeds = {name: float(speed) for name, speed in _NIC.findall(view.facts.get("nic_speed", "").replace("; ", ";"))}
    used = {name: speed for name, speed in speeds.items() if not view.plan.interfaces or name in view.plan.interfaces}
    if not used:
        return
    slowest = min(used, key=lambda name: used[name])
    fastest = max(speeds, key=lambda name: speeds[name])
    told = ", ".join(f"{name} with {speed:,.0f} Mbit/s" for name, speed in used.items())
    if view.plan.interfaces and speeds[fastest] > max(used.values()):
        yield warns(f"MPI sends over {told}, and {fastest} has {speeds[fastest]:,.0f} Mbit/s")
    elif used[slowest] < speeds[fastest] and not view.plan.interfaces:
        yield warns(f"MPI may send over any of {told}: messages over {slowest} wait")
    else:
        slow = "; HPL on several nodes waits for it" if used[slowest] <= GIGABIT_MBIT_S else ""
        yield notes(f"MPI sends over {told}{slow}")
