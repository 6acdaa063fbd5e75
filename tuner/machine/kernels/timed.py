"""Times the BLAS kernels on one node of each kind of CPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hpl.blas.catalogue import Blas, BlasError
from hpl.blas.probe import HERE, Probe, ProbedCpu, Timing
from hpl.blas.survey import kernel_survey
from hpl.search_paths import SearchPaths
from runners.errors import ProcessError, UnreachableError
from runners.hosts.transport import Transport

from .cpu_kinds import CpuKind, ask_cpu_kinds
from .node_cpu import NodeCpuError, node_cpu

TRIED = 3
"""Nodes of a kind that are tried, one after the other, until one can be asked."""

OnNodeProbe = Callable[[str, str], None]
"""Is told the name of each BLAS, and where ("node n1", "this host"), before its kernels are timed there."""


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
        for node in sorted(kind.nodes, key=lambda node: node in kind.busy)[:TRIED]:
            try:
                found = self._on_node(node, kind)
            except (UnreachableError, ProcessError, NodeCpuError) as error:
                complaints.append(str(error))
            else:
                return replace(found, complaints=tuple(complaints))
        if kind.identity != HERE.cpu:
            return KindKernels(kind, {}, {}, tuple(complaints))
        here = self._surveyed(HERE, "this host", kind, Timing.BUSY if kind.busy else Timing.QUIET)
        return replace(here, complaints=tuple(complaints), by_host=True)

    def _on_node(self, node: str, kind: CpuKind) -> KindKernels:
        files = [entry.library(1).path for entry in self.blas]
        with node_cpu(self.reach, node, kind.identity, files) as cpu:
            return self._surveyed(cpu, f"node {node}", kind, Timing.BUSY if node in kind.busy else Timing.QUIET)

    def _surveyed(self, cpu: ProbedCpu, where: str, kind: CpuKind, timing: Timing) -> KindKernels:
        probes, failed = {}, {}
        for entry in self.blas:
            self.on_probe(entry.name, where)
            try:
                probes[entry.name] = kernel_survey(entry, kind.flags, self.search, timing, cpu)
            except BlasError as error:
                failed[entry.name] = f"{where}: {error}"
        return KindKernels(kind, probes, failed)
