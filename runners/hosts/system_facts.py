"""What a host has for settings of the system: C library, huge pages, NUMA nodes, kinds of cores and SMT siblings."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnreachableError
from .transport import Local, say

PERFORMANCE = 0.8
"""Cores with at least this part of the largest capacity are performance cores where the kernel gives no kinds: clusters
of big cores differ by some percent, small ones have half of their capacity or less (Linux, cpu-capacity.txt)."""
MOST_CPUS = 1 << 16
"""Linux can be built for 8,192 CPUs at most (NR_CPUS of x86-64)."""
TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled"
"""The file in which the kernel tells of transparent huge pages: its choice is the word in brackets."""
IN_BRACKETS = r"sed -n 's/.*\[\(.*\)\].*/\1/p'"
"""Prints the word in brackets of a file that comes after it."""
GLIBC = "getconf GNU_LIBC_VERSION"
"""Prints "glibc 2.36", or nothing where the C library is another."""
SAY = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
"""
SYSTEM = rf"""
say glibc "$({GLIBC} 2>/dev/null)"
say transparent_huge_pages "$({IN_BRACKETS} "$root{TRANSPARENT}" 2>/dev/null)"
say huge_pages "$(sed -n 's/^HugePages_Free:[[:space:]]*//p' "$root/proc/meminfo" 2>/dev/null)"
say huge_pages "$(cat "$root/proc/sys/vm/nr_overcommit_hugepages" 2>/dev/null)"
say numa_nodes "$(cat "$root/sys/devices/system/node/has_memory" 2>/dev/null)"
say performance "$(cat "$root/sys/devices/cpu_core/cpus" 2>/dev/null)"
say efficiency "$(cat "$root/sys/devices/cpu_atom/cpus" 2>/dev/null)"
say allowed "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$root/proc/self/status" 2>/dev/null)"
for file in "$root"/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list; do
    cpu=${{file%/topology/*}}
    [ -r "$file" ] && say sibling "${{cpu##*/cpu}} $(cat "$file")"
done
for file in "$root"/sys/devices/system/cpu/cpu[0-9]*/cpu_capacity; do
    cpu=${{file%/*}}
    [ -r "$file" ] && say capacity "${{cpu##*/cpu}} $(cat "$file")"
done
for program in numactl taskset; do command -v "$program" >/dev/null 2>&1 && say program "$program"; done
"""
"""Says it with SAY; $root is the folder with /proc and /sys, "" for the host's own."""


@dataclass(frozen=True)
class SystemFacts:
    """What a host has.

    Attributes:
        glibc: its version, as (2, 36); (0, 0) if its C library is another.
        transparent_huge_pages: always, madvise or never; "" if its kernel has none.
        huge_pages: huge pages that are free, or that the kernel makes when they are wanted.
        numa_nodes: numbers of the NUMA nodes that have memory; empty if the kernel does not tell.
        cores: the hardware threads of each core that a process may use, in the kernel's order.
        performance: the hardware threads of the performance cores, where the cores are of two kinds; else empty.
        programs: of numactl and taskset those that it has.
    """

    glibc: tuple[int, int] = (0, 0)
    transparent_huge_pages: str = ""
    huge_pages: int = 0
    numa_nodes: tuple[int, ...] = ()
    cores: tuple[tuple[int, ...], ...] = ()
    performance: frozenset[int] = frozenset()
    programs: frozenset[str] = frozenset()


def cpu_list(listed: str) -> list[int]:
    """Parse a list of CPUs of the kernel, such as "0-3,8".

    Raises:
        ValueError: a number is beyond what any kernel counts.
    """
    ends = [
        (int(first), int(last or first))
        for first, _, last in [part.partition("-") for part in listed.split(",")]
        if first.isdecimal() and (last or first).isdecimal()
    ]
    if any(last >= MOST_CPUS for _, last in ends):
        raise ValueError(f"{listed[:40]}: no kernel has so many CPUs")
    return [cpu for first, last in ends for cpu in range(first, last + 1)]


def said_in(printed: str) -> dict[str, list[str]]:
    """Return what SAY printed, by name; other lines are skipped."""
    said: dict[str, list[str]] = {}
    for line in printed.splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            said.setdefault(name, []).append(value.strip())
    return said


def first_of(said: Mapping[str, Sequence[str]], name: str) -> str:
    """Return what was said first under a name; "" where nothing was."""
    return said.get(name, [""])[0]


def told_system(said: Mapping[str, Sequence[str]]) -> SystemFacts:
    """Make the facts of what SYSTEM said, by name.

    Raises:
        ValueError: a number of a CPU is beyond what any kernel counts.
    """
    name, _, version = first_of(said, "glibc").partition(" ")
    major, _, minor = version.partition(".")
    glibc = (int(major), int(minor)) if name == "glibc" and _short(major) and _short(minor) else (0, 0)
    transparent = first_of(said, "transparent_huge_pages")
    cores = cores_of(cpu_list(first_of(said, "allowed")), said.get("sibling", []))
    return SystemFacts(
        glibc=glibc,
        transparent_huge_pages=transparent if transparent in {"always", "madvise", "never"} else "",
        huge_pages=sum(int(pages) for pages in said.get("huge_pages", []) if _short(pages)),
        numa_nodes=tuple(cpu_list(first_of(said, "numa_nodes"))),
        cores=cores,
        performance=_performance(said) & {cpu for core in cores for cpu in core},
        programs=frozenset(said.get("program", [])) & {"numactl", "taskset"},
    )


def cores_of(allowed: Iterable[int], siblings: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Group CPUs by core.

    Args:
        siblings: lines of a CPU and the list of all CPUs of its core, as "0 0,8"; a CPU without one is a core.

    Raises:
        ValueError: a number is beyond what any kernel counts.
    """
    lists = dict(line.split(" ", 1) for line in siblings if " " in line)
    left = dict.fromkeys(sorted(allowed))
    cores: list[tuple[int, ...]] = []
    while left:
        first = next(iter(left))
        core = tuple(cpu for cpu in dict.fromkeys((first, *cpu_list(lists.get(str(first), "")))) if cpu in left)
        cores.append(core)
        for cpu in core:
            del left[cpu]
    return tuple(cores)


def _performance(said: Mapping[str, Sequence[str]]) -> frozenset[int]:
    kinds = [cpu_list(said.get(name, [""])[0]) for name in ("performance", "efficiency")]
    if all(kinds):
        return frozenset(kinds[0])
    pairs = [line.split() for line in said.get("capacity", [])]
    capacities = {int(pair[0]): int(pair[1]) for pair in pairs if len(pair) == 2 and all(map(_short, pair))}
    most = max(capacities.values(), default=0)
    large = frozenset(cpu for cpu, capacity in capacities.items() if capacity >= PERFORMANCE * most)
    return large if len(large) < len(capacities) else frozenset()


def _short(text: str) -> bool:
    """Whether a text is a number that is not too long."""
    return text.isdecimal() and len(text) <= 9


def this_system(root: Path | None = None) -> SystemFacts:
    """Read the facts of this host.

    Args:
        root: a folder in place of the host's own /proc and /sys.
    """
    script = f"root={shlex.quote(str(root or ''))}\n{SAY}{SYSTEM}"
    try:
        return told_system(said_in(say(Local(), "this host", ("sh", "-c", script)).stdout))
    except (UnreachableError, ValueError):
        return SystemFacts()
