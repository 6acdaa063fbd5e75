"""Groups the nodes of a cluster by their CPU: on one kind of CPU the same BLAS kernels are fast."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hpl.blas.probe import CPU_LINES, cpu_identity
from hpl.peak.cpuinfo import flags_of, parse
from runners.errors import UnreachableError
from runners.hosts.transport import CommandResult, Transport, say_all

BUSY = 0.5
"""Load for each core from which other programs disturb a timing."""
_SCRIPT = rf"""
head -n {CPU_LINES} /proc/cpuinfo
printf '\nmachine\t: %s\n' "$(uname -m)"
grep '^Model[[:space:]]' /proc/cpuinfo
printf 'load\t: %s\n' "$(cut -d ' ' -f 1 /proc/loadavg)"
cores=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list 2>/dev/null | sort -u | wc -l)
printf 'cores\t: %s\n' "$cores"
"""


@dataclass(frozen=True)
class CpuKind:
    """Nodes with the same CPU.

    Attributes:
        model: its name, as people know it.
        identity: what tells it from others (`hpl.blas.probe.cpu_identity`).
        flags: its instruction sets.
        nodes: in the order of the cluster file.
        busy: those of them on which other programs run now.
    """

    model: str
    identity: str
    flags: frozenset[str]
    nodes: tuple[str, ...]
    busy: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _NodeCpu:
    model: str
    identity: str
    flags: frozenset[str]
    busy: bool


def ask_cpu_kinds(reach: Transport, nodes: Sequence[str]) -> tuple[tuple[CpuKind, ...], list[str]]:
    """Ask all nodes at once for their CPU.

    Returns:
        The kinds, that of the first node first, and a sentence about each node that did not tell.
    """
    told: dict[str, _NodeCpu] = {}
    silent = []
    for node, said in say_all(reach, nodes, ("sh", "-c", _SCRIPT)).items():
        found = None if isinstance(said, UnreachableError) else _cpu_of(said)
        if found is None:
            silent.append(str(said) if isinstance(said, UnreachableError) else f"node {node}: it does not tell its CPU")
        else:
            told[node] = found
    return tuple(_kinds(told.items())), silent


def _cpu_of(said: CommandResult) -> _NodeCpu | None:
    """Read what a node printed; None if there is no CPU in it."""
    info = parse(said.stdout)
    if not info.processors:
        return None
    first = min(info.processors)
    model = info.field(first, "model name") or info.field(first, "Model") or info.field(first, "machine")
    load, cores = info.general.get("load", ""), info.general.get("cores", "")
    try:
        busy = float(load) >= BUSY * max(1, int(cores))
    except ValueError:
        busy = False
    return _NodeCpu(model, cpu_identity(said.stdout), flags_of(info, first), busy)


def _kinds(told: Iterable[tuple[str, _NodeCpu]]) -> list[CpuKind]:
    groups: dict[tuple[str, str], dict[str, _NodeCpu]] = {}
    for node, cpu in told:
        groups.setdefault((cpu.model, cpu.identity), {})[node] = cpu
    return [
        CpuKind(
            model,
            identity,
            frozenset.intersection(*(cpu.flags for cpu in own.values())),
            tuple(own),
            frozenset(node for node, cpu in own.items() if cpu.busy),
        )
        for (model, identity), own in groups.items()
    ]
