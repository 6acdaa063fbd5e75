"""Checks of what a process, a user and a control group may take, against what runs are planned to take."""

import math
from collections.abc import Iterator

from ..units import gibibytes
from ..words import counted
from .contract import NodeView, Spoiler, notes, warns

LAUNCHER_FILES, RANK_FILES = 32, 4
"""Files that Open MPI's launcher has open: by itself, and for each rank. Measured with Open MPI 4.1.4 as the smallest
limit with which 4, 8, 16 and 32 ranks start (44, 60, 96 and 160); with fewer it hangs."""
RANK_TASKS, OTHER_TASKS = 4, 50
"""Threads of a rank beside those that compute, which MPI starts; and processes of the launcher and of the user."""
GIB = 2.0**30
KIB = 1024.0
LOCKED_KIB = 64.0 * KIB
"""Less may be locked than the buffers of one rank over InfiniBand usually take (64 MiB)."""


def open_files(view: NodeView) -> Iterator[Spoiler]:
    """Yield that MPI's launcher may open too few files for the ranks; on this machine hpltune raises the soft limit."""
    ranks = view.plan.ranks
    allowed, needed = (
        view.limit("limit_nofile_hard" if view.plan.here else "limit_nofile"),
        LAUNCHER_FILES + RANK_FILES * ranks,
    )
    if allowed < needed:
        yield warns(
            f"a process may open {allowed:,.0f} files, and MPI's launcher needs about {needed:,} for "
            f"{counted(ranks, 'rank')}: it fails or hangs"
        )


def tasks(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the user or the control group may start too few processes and threads."""
    needed = view.plan.ranks * (view.plan.threads + RANK_TASKS) + OTHER_TASKS
    whose = {"limit_processes": "a user", "limit_tasks": "the control group"}
    for name, who in whose.items():
        allowed = view.limit(name)
        if allowed < needed:
            yield warns(
                f"{who} may have {allowed:,.0f} processes and threads, and "
                f"{counted(view.plan.ranks, 'rank')} with {counted(view.plan.threads, 'thread')} need about {needed:,}"
            )


def process_memory(view: NodeView) -> Iterator[Spoiler]:
    """Yield that a process may have less memory than a rank takes, or than is usual where nobody knows that yet."""
    allowed = view.limit("limit_memory")
    if allowed == math.inf:
        return
    needed = view.plan.memory_bytes // view.plan.ranks
    share = int((view.number("memory_gib") or 0.0) * GIB) // view.plan.ranks
    if allowed < (needed or share):
        wanted = f"a rank takes {gibibytes(needed)}" if needed else f"its share of the memory is {gibibytes(share)}"
        yield warns(f"a process may have {gibibytes(int(allowed))} of memory, and {wanted}")


def locked_memory(view: NodeView) -> Iterator[Spoiler]:
    """Yield that InfiniBand may lock too little memory for messages."""
    allowed = view.limit("limit_memlock")
    if view.plan.nodes > 1 and "ACTIVE" in view.facts.get("infiniband_state", "") and allowed < LOCKED_KIB:
        yield warns(
            f"a process may lock {allowed:,.0f} KiB of memory, and InfiniBand locks the buffers of all messages"
        )


def processor_quota(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the control group allows fewer CPUs than compute: it stops all ranks for a part of each period."""
    quota, busy = view.limit("cpu_quota"), view.plan.busy
    if quota < busy:
        yield warns(
            f"the control group allows {quota:.4g} CPUs, and {counted(busy, 'thread')} will compute: the kernel stops "
            "all of them for a part of each tenth of a second"
        )
    elif quota < (view.number("cpus_allowed") or view.number("cores") or 0.0):
        yield notes(f"the control group allows {quota:.4g} CPUs of more that are here")


def memory_quota(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the control group allows less memory than there is, or than runs take."""
    limit_gib, memory_gib = view.limit("memory_limit_gib"), view.number("memory_gib") or 0.0
    planned_gib = view.plan.memory_bytes / GIB
    if limit_gib < planned_gib:
        yield warns(
            f"the control group allows {limit_gib:.4g} GiB of memory, and runs take {planned_gib:.4g} GiB: the kernel "
            "ends them"
        )
    elif limit_gib < memory_gib:
        yield notes(f"the control group allows {limit_gib:.4g} GiB of the {memory_gib:.4g} GiB of memory")
