"""BLAS kernels on the nodes of a cluster: timed on one node of each kind of CPU, and chosen for all together."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from hpl.blas.catalogue import Blas, BlasError
from hpl.blas.probe import (
    CHILD,
    CPU_LINES,
    HERE,
    NO_ANSWER,
    TIMEOUT_S,
    Probe,
    ProbedCpu,
    Timing,
    child_answer,
    child_argument,
    cpu_identity,
    file_identity,
)
from hpl.blas.registry import kernel_survey
from hpl.rpeak import flags_of, parse_cpuinfo
from hpl.search_paths import SearchPaths
from results.node_check import ranges
from runners.errors import ProcessError, UnreachableError
from runners.hosts.hearing import CommandResult
from runners.hosts.staging import StagedFiles, stage, unstage
from runners.hosts.transport import Transport, ask, raised, say_all
from runners.launchers.base import FIRST_SIGNAL
from runners.readiness.tied import TIMED_OUT, run_all_tied

from ..errors import TunerError
from ..events import Notice
from .inventory import Inventory

TRIED = 3
"""Nodes of a kind that are tried, one after the other, until one can be asked."""

OnNodeProbe = Callable[[str, str], None]
"""Is told the name of each BLAS, and where ("node n1", "this host"), before its kernels are timed there."""

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

SUMS_S = 60.0
"""Seconds that a node has to read all BLAS files."""
NO_PYTHON = 87
"""Exit code that says so; no child ends with it."""
_SUMS = (
    'for file in "$@"; do [ -r "$file" ] && printf "%s %s\n" "$(sha256sum <"$file" | cut -d " " -f 1)" "$file"; done; :'
)
_CHILD = rf"""
for python in "$1" python3 /usr/libexec/platform-python; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    exec "$python" -I -S {CHILD.name} "$2"
done
exit {NO_PYTHON}
"""
"""$1 is the Python of this host, which nodes that share its folders have, too."""

OWN = "auto"
"""The library's own choice, which may be another kernel on each node."""


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
class KindKernels:
    """The kernels of a kind of CPU.

    Attributes:
        probes: timed kernels by BLAS, fastest first; without libraries that do not run there.
        failed: by BLAS why it does not run there.
        complaints: why nodes could not be asked, a sentence each.
        by_host: no node could be asked, and this host, which has the same CPU, was.
    """

    cpu: CpuKind
    probes: Mapping[str, tuple[Probe, ...]]
    failed: Mapping[str, str]
    complaints: tuple[str, ...] = ()
    by_host: bool = False

    @property
    def timed(self) -> bool:
        """Whether a node of the kind was asked at all."""
        return bool(self.probes or self.failed)


@dataclass(frozen=True)
class ClusterKernels:
    """The kernels of all kinds of CPU that the nodes have.

    Attributes:
        silent: sentences about nodes that did not tell their CPU.
    """

    kinds: tuple[KindKernels, ...]
    silent: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        """What could not be asked or timed, a sentence each, without a full stop."""
        untimed = (
            f"no node with {kind.cpu.model} could time the BLAS kernels ({'; '.join(kind.complaints)}): "
            f"{'this host has the same CPU and times them' if kind.by_host else 'libraries choose theirs there'}"
            for kind in self.kinds
            if kind.by_host or not kind.timed
        )
        tried = (why for kind in self.kinds if kind.timed and not kind.by_host for why in kind.complaints)
        return (
            *self.silent,
            *tried,
            *untimed,
            *dict.fromkeys(why for kind in self.kinds for why in kind.failed.values()),
        )


@dataclass(frozen=True)
class KernelTimer:
    """Times the kernels of BLAS libraries on nodes.

    Attributes:
        blas: libraries of this host; a node that lacks their files gets copies.
        search: whose cache remembers the rates of each kind of CPU.
    """

    reach: Transport
    blas: Sequence[Blas]
    search: SearchPaths
    on_probe: OnNodeProbe

    def of_nodes(self, nodes: Sequence[str]) -> ClusterKernels:
        """Time on one node of each kind what is not remembered; without libraries no node is asked.

        Raises:
            InvalidJobError: a node is no host name.
        """
        if not self.blas:
            return ClusterKernels(())
        kinds, silent = ask_cpu_kinds(self.reach, nodes)
        return ClusterKernels(tuple(self._of_kind(kind) for kind in kinds), tuple(silent))

    def _of_kind(self, kind: CpuKind) -> KindKernels:
        complaints: list[str] = []
        files = [entry.library(1).path for entry in self.blas]
        for node in sorted(kind.nodes, key=lambda node: node in kind.busy)[:TRIED]:
            timing = Timing.BUSY if node in kind.busy else Timing.QUIET
            try:
                with node_cpu(self.reach, node, kind.identity, files) as cpu:
                    found = self._surveyed(cpu, f"node {node}", kind, timing)
            except (UnreachableError, ProcessError, NodeCpuError) as error:
                complaints.append(str(error))
            else:
                return replace(found, complaints=tuple(complaints))
        if kind.identity != HERE.cpu:
            return KindKernels(kind, {}, {}, tuple(complaints))
        here = self._surveyed(HERE, "this host", kind, Timing.BUSY if kind.busy else Timing.QUIET)
        return replace(here, complaints=tuple(complaints), by_host=True)

    def _surveyed(self, cpu: ProbedCpu, where: str, kind: CpuKind, timing: Timing) -> KindKernels:
        probes, failed = {}, {}
        for entry in self.blas:
            self.on_probe(entry.name, where)
            try:
                probes[entry.name] = kernel_survey(entry, kind.flags, self.search, timing, cpu)
            except BlasError as error:
                failed[entry.name] = f"{where}: {error}"
        return KindKernels(kind, probes, failed)


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
    info = parse_cpuinfo(said.stdout)
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


class NodeCpuError(TunerError):
    """No library can be asked on a node; the sentence says why."""


@dataclass
class NodeCpu:
    """The CPU of a node; what it needs is copied there before the first library is asked.

    Attributes:
        cpu: identity of its CPU.
        copied: BLAS files that it lacks, by the name of the copy.
        changed: checksums of its files that are not those of this host, by path.
    """

    reach: Transport
    node: str
    cpu: str
    copied: Mapping[str, Path]
    changed: Mapping[Path, str]
    _staged: StagedFiles | None = field(default=None, init=False)

    def identity(self, path: Path) -> Sequence[object]:
        """Return the same as for this host if the node has the same file and CPU, so that both share answers."""
        return [*file_identity(path), self.cpu, *([self.changed[path]] if path in self.changed else [])]

    def run_child(self, path: Path, variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
        """Run the child on the node.

        Raises:
            NodeCpuError: it takes no files, or has no Python.
            UnreachableError: it does not answer.
        """
        file = next((f"./{name}" for name, copy in self.copied.items() if copy == path), str(path))
        words = [f"{name}={value}" for name, value in variables.items()]
        command = (*words, "sh", "-c", _CHILD, "sh", sys.executable, child_argument(file, seconds))
        told = run_all_tied(self.reach, {self.node: self._folder()}, {self.node: command}, TIMEOUT_S, lambda: False)
        said = raised(told[self.node])
        if said.exit_code in TIMED_OUT:
            return {"error": NO_ANSWER}
        if said.exit_code == NO_PYTHON:
            raise NodeCpuError(f"node {self.node}: it has no python3 of version 3.9 or newer")
        code = FIRST_SIGNAL - said.exit_code if said.exit_code > FIRST_SIGNAL else said.exit_code
        return child_answer(code, said.stdout, said.stderr)

    def close(self) -> None:
        """Remove what was copied."""
        if self._staged is not None:
            unstage(self.reach, self._staged)

    def _folder(self) -> str:
        if self._staged is None:
            self._staged = stage(self.reach, [self.node], {CHILD.name: CHILD, **self.copied})
        for why in self._staged.failed.values():
            raise NodeCpuError(why)
        return self._staged.folders[self.node]


@contextmanager
def node_cpu(reach: Transport, node: str, cpu: str, files: Sequence[Path]) -> Iterator[NodeCpu]:
    """Ask libraries on a node while the block runs.

    Args:
        cpu: identity of its CPU.
        files: the libraries.

    Raises:
        UnreachableError, ProcessError: the node cannot be asked.
    """
    printed = ask(reach, node, ("sh", "-c", _SUMS, "sh", *map(str, files)), timeout_s=SUMS_S)
    lines = (line.partition(" ") for line in printed.splitlines())
    sums = {Path(path): checksum for checksum, _, path in lines if path}
    changed = {path: checksum for path, checksum in sums.items() if checksum != _sum(path)}
    copied = {f"{number}-{path.name}": path for number, path in enumerate(files) if path not in sums}
    opened = NodeCpu(reach, node, cpu, copied, changed)
    try:
        yield opened
    finally:
        opened.close()


def _sum(path: Path) -> str:
    """Return the SHA-256 of a file of this host; "" if it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def with_node_kernels(
    inventory: Inventory, search: SearchPaths, on_probe: OnNodeProbe
) -> tuple[Inventory, tuple[Notice, ...]]:
    """Add to an inventory of nodes how fast each kernel of its BLAS libraries is on one core of them.

    Returns:
        The inventory, and notices about what could not be timed and about nodes that differ.
    """
    if inventory.nodes is None or not inventory.node_names or not inventory.blas:
        return inventory, ()
    reach = inventory.nodes.cluster.reach
    found = KernelTimer(reach, inventory.blas, search, on_probe).of_nodes(inventory.node_names)
    told, busy = [*found.failures, mixed_sentence(found)], busy_sentence_of(found)
    notices = [Notice(f"{sentence}.") for sentence in told if sentence]
    notices += [Notice(f"{busy}.", caution=True)] if busy else []
    flags = [kind.cpu.flags for kind in found.kinds]
    common = frozenset.intersection(*flags) if flags else None
    return replace(inventory, probes=common_probes(found.kinds), flags=common), tuple(notices)


def mixed_sentence(found: ClusterKernels) -> str | None:
    """What becomes of the choice of kernels where nodes have several kinds of CPU; None where they have one."""
    if len(found.kinds) < 2:
        return None
    kinds = "; ".join(f"{kind.cpu.model}: {ranges(kind.cpu.nodes)}" for kind in found.kinds)
    return (
        f"The nodes have {len(found.kinds)} kinds of CPU ({kinds}): a library chooses its kernel on each node by "
        "itself, unless one kernel is at least as fast on all of them"
    )


def busy_sentence_of(found: ClusterKernels) -> str | None:
    """A caution that names the nodes on which other programs run; None where there are none."""
    busy = [node for kind in found.kinds for node in kind.cpu.nodes if node in kind.cpu.busy]
    if not busy:
        return None
    named = f"node {busy[0]} is" if len(busy) == 1 else f"nodes {ranges(busy)} are"
    return f"{named} busy (a load of {BUSY:g} a core or more): other programs will cost GFLOPS and repeatability"


def common_probes(kinds: Sequence[KindKernels]) -> dict[str, tuple[Probe, ...]]:
    """By BLAS the kernels for all nodes, fastest first, with the rate of the slowest kind: all ranks wait for it.

    The library's own choice counts on all kinds; a kernel by its name only if all kinds can run it, and none of them is
    slower with it than with the own choice. A BLAS that does not run on a kind has none.
    """
    timed = [kind.probes for kind in kinds if kind.timed]
    if not timed:
        return {}
    if len(kinds) == 1:
        return dict(timed[0])
    named = len(timed) == len(kinds)
    return {
        blas: _common([own[blas] for own in timed], named=named)
        for blas in timed[0]
        if all(blas in own for own in timed)
    }


def _common(timed: Sequence[Sequence[Probe]], *, named: bool) -> tuple[Probe, ...]:
    """The kernels of one BLAS.

    Args:
        timed: those of each kind.
        named: whether kernels may count by their name.
    """
    by_kind = [{probe.kernel: probe for probe in probes} for probes in timed]
    kernels = [
        kernel
        for kernel in by_kind[0]
        if kernel == OWN or (named and all(kernel in own and own[kernel].gflops >= own[OWN].gflops for own in by_kind))
    ]
    slowest = [min((own[kernel] for own in by_kind), key=lambda probe: probe.gflops) for kernel in kernels]
    return tuple(sorted(slowest, key=lambda probe: -probe.gflops))
