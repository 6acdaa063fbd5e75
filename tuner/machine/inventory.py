"""What was found on the machine of a study; plans and spaces know nothing else of it."""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from hpl.blas.catalogue import Blas, BlasLibrary
from hpl.blas.nvblas import NAME as NVBLAS
from hpl.blas.probe import Probe
from hpl.blas.registry import family
from hpl.build.toolchain import Mpi
from hpl.programs.family import HplProgram
from hpl.programs.registry import TO_BUILD
from hpl.programs.terms import Gpu, NodeShape, Terms
from hpl.rpeak import Rpeak, cpu_flags
from results.record import WORKLOAD
from runners.hosts.host_facts import HostFacts, memory_available_bytes
from runners.settings.registry import HostsOffer
from search_spaces.machine import BlasFacts, Machine, MachineNode

from ..errors import TunerError
from ..words import counted
from .equipment import CONTAINER, CONTAINER_SHA256, GPUS, MODULES, PROGRAM, WRAP
from .peak import CORE_DGEMM, CORE_RPEAK, fastest_dgemm_gflops

if TYPE_CHECKING:
    from runners.containers.contract import Container
    from runners.hosts.cluster import Cluster

SLOW_BLAS = 0.5
"""A BLAS whose best dgemm is below this part of the best library's is not worth a search run: HPL spends about
96 % of its time in dgemm on one node (Cornebize's thesis), so no other setting can make up a factor of two."""
SLOW_KERNEL = 0.7
"""A kernel below this part of the best kernel of the same library is left out of a search by the same reasoning."""


@dataclass(frozen=True)
class Nodes:
    """The nodes of a real cluster.

    Attributes:
        names: in the order in which ranks fill the nodes; empty if a batch system chooses them.
        count: number of nodes.
        cores: used on each node.
        memory_bytes: free memory of the node that has least.
        longest_s: the longest time that a run may take.
        scarcest: the node that has least free memory; "" if something else limits the memory.
        interfaces: network interfaces that MPI may use; empty lets it choose.
        rdma: ports of InfiniBand and RoCE, and the interface of each; None where nobody told.
    """

    names: tuple[str, ...]
    count: int
    cores: int
    memory_bytes: int
    cluster: "Cluster"
    longest_s: float = math.inf
    scarcest: str = ""
    interfaces: tuple[str, ...] = ()
    rdma: tuple[tuple[str, str], ...] | None = None

    @property
    def listed(self) -> tuple[MachineNode, ...]:
        """The nodes with their speeds and switches; empty if a batch system chooses them."""
        switches, speeds = self.cluster.switch_of, self.cluster.speeds
        return tuple(MachineNode(name, self.cores, speeds.get(name), switches.get(name, "")) for name in self.names)


@dataclass(frozen=True)
class Inventory:
    """What a study may use.

    Attributes:
        mpis: MPI libraries that can start ranks here, the preferred one first; at least one.
        probes: by BLAS, the dgemm rate of each kernel that was timed, fastest first.
        program: what runs; one that is there already uses no BLAS of the catalogue.
        programs: by the names that points give them, where a study has several; `program` is the first of them.
        called: the name that points give to `program`; "" for that of its family.
        nodes: where ranks run, and `host` describes all of them together; None for this machine alone.
        flags: instruction sets of all nodes; None takes those of this host.
        offer: what the hosts offer of settings.
        wrap: words before the program of every rank.
        container: the image in which ranks run; None for the nodes' own files.
        gpus: of each node, that the program or its BLAS computes on; empty where they compute on cores.
    """

    host: HostFacts
    rpeak: Rpeak
    mpis: tuple[Mpi, ...]
    blas: tuple[Blas, ...]
    probes: Mapping[str, tuple[Probe, ...]]
    program: HplProgram = TO_BUILD
    nodes: Nodes | None = None
    flags: frozenset[str] | None = None
    offer: HostsOffer = field(default_factory=HostsOffer)
    gpus: tuple[Gpu, ...] = ()
    programs: Mapping[str, HplProgram] = field(default_factory=dict)
    called: str = ""
    wrap: tuple[str, ...] = ()
    container: "Container | None" = None

    @property
    def node_names(self) -> tuple[str, ...]:
        """Where ranks run; empty for this machine alone."""
        return self.nodes.names if self.nodes else ()

    @property
    def node_count(self) -> int:
        """How many nodes a trial runs on."""
        return self.nodes.count if self.nodes else 1

    def share_of(self, whole: float | None) -> float | None:
        """The part of a figure of the whole cluster that these nodes have; None if the figure is unknown."""
        part = self.node_count / self.nodes.cluster.size if self.nodes else 1.0
        return whole and part * whole

    @property
    def longest_s(self) -> float:
        """The longest time that a run may take."""
        return self.nodes.longest_s if self.nodes else math.inf

    def free_bytes(self) -> int:
        """Memory that a run may use now, on all nodes together; of GPUs all that they have."""
        if matrix_on_gpus(self):
            return matrix_memory_bytes(self)
        return self.host.memory_available_bytes if self.nodes else memory_available_bytes()

    def facts(self) -> dict[str, object]:
        """The facts of the host as a study stores them."""
        nodes = {"nodes": self.nodes.count, "node_names": list(self.nodes.names)} if self.nodes else {}
        timed = {CORE_DGEMM: round(self.dgemm_gflops, 2), CORE_RPEAK: round(self.rpeak.core_gflops, 2)}
        families = {name: program.name for name, program in self.programs.items()}
        own: dict[str, object] = {PROGRAM: families or self.program.name} if families or self.program.terms.own else {}
        if not self.program.workload.is_hpl:
            own[WORKLOAD] = self.program.workload.name
        if self.gpus:
            own[GPUS] = [asdict(gpu) for gpu in self.gpus]
        if self.wrap:
            own[WRAP] = shlex.join(self.wrap)
        if modules := os.environ.get("LOADEDMODULES"):
            own[MODULES] = modules.replace(":", ", ")
        if self.container is not None:
            own |= {CONTAINER: str(self.container), CONTAINER_SHA256: self.container.sha256}
        return {**asdict(self.host), **nodes, **own, **(timed if self.dgemm_gflops else {})}

    @property
    def ceiling_gflops(self) -> float:
        """The rate that no run can exceed: Rpeak, or if it is larger the rate of dgemm on one core times all cores.

        If the cluster's file gives the peak of its nodes, only Rpeak counts: dgemm may have been timed on this host.
        """
        return max(self.rpeak.gflops, self.host.physical_cores * self.dgemm_gflops / self.rpeak.strongest)

    @property
    def dgemm_gflops(self) -> float:
        """The rate of the fastest dgemm on one core; 0 if it says nothing of the nodes in use."""
        foreign = self.nodes is not None and self.nodes.cluster.node.rpeak_gflops is not None
        return 0.0 if foreign else fastest_dgemm_gflops(self.probes)

    @property
    def mpi(self) -> Mpi:
        """The MPI library that is used unless a plan names another."""
        return self.mpis[0]

    def mpi_named(self, name: str) -> Mpi:
        """The MPI library of that name; "" is the preferred one.

        Raises:
            TunerError: this machine has none.
        """
        for mpi in self.mpis:
            if name in {"", mpi.name}:
                return mpi
        found = ", ".join(mpi.name for mpi in self.mpis)
        raise TunerError(f"MPI {name} is not on this machine (found: {found}): install it, or load its module")

    def library(self, blas: str, threads: int) -> BlasLibrary | None:
        """The build of a BLAS for that many threads; None for a program that brings its own.

        Raises:
            TunerError: this machine has no BLAS of that name.
        """
        if not self.program.takes_blas:
            return None
        return self.named(blas).library(threads)

    def named(self, blas: str) -> Blas:
        """The catalogue entry of that name.

        Raises:
            TunerError: this machine has none.
        """
        for entry in self.blas:
            if entry.name == blas:
                return entry
        found = ", ".join(entry.name for entry in self.blas) or "none"
        how = f"`hpltune setup ⟦with⟧ {blas}` installs it" if blas == NVBLAS else "`hpltune setup` installs more"
        raise TunerError(f"BLAS {blas} is not on this machine (found: {found}): {how}")

    def environment(self, blas: str, kernel: str, threads: int) -> dict[str, str]:
        """Kernel and thread variables of the ranks."""
        library = self.library(blas, threads)
        if library is None:
            return family("other").environment("auto", threads, None)
        return family(library.family).environment(kernel, threads, library)

    def best_probe(self, blas: str) -> Probe | None:
        """The fastest kernel choice of a BLAS, or None where it was not probed."""
        return next(iter(self.probes.get(blas, ())), None)

    def ranked_blas(self) -> tuple[Blas, ...]:
        """The BLAS libraries, fastest dgemm first."""
        return tuple(sorted(self.blas, key=lambda entry: -self._rate(entry.name)))

    def promising(self) -> tuple[Blas, ...]:
        """The libraries worth a search run, fastest first (see SLOW_BLAS)."""
        ranked = self.ranked_blas()
        best = max((self._rate(entry.name) for entry in ranked), default=0.0)
        return tuple(entry for entry in ranked if self._rate(entry.name) >= SLOW_BLAS * best)

    def kernels(self, blas: str, *, slow: bool) -> tuple[str, ...]:
        """Kernel choices of a BLAS, fastest first, each real kernel once and by its name where it has one.

        Args:
            slow: also those too slow to win (see SLOW_KERNEL).
        """
        probes = self.probes.get(blas, ())
        distinct: dict[str, Probe] = {}
        for probe in sorted(probes, key=lambda probe: probe.kernel == "auto"):
            distinct.setdefault(probe.kernel_used.lower(), probe)
        least = 0.0 if slow else SLOW_KERNEL * max((probe.gflops for probe in probes), default=0.0)
        ranked = sorted(distinct.values(), key=lambda probe: -probe.gflops)
        return tuple(probe.kernel for probe in ranked if probe.gflops >= least) or ("auto",)

    def machine(self, *, all_blas: bool, N: int | None, slow_kernels: bool | None = None) -> Machine:
        """The facts a search space needs.

        Args:
            all_blas: also the libraries too slow to win.
            N: order of the matrix chosen from the budget, or None.
            slow_kernels: also the kernels too slow to be their library's fastest; None is as `all_blas`.
        """
        flags = cpu_flags() if self.flags is None else self.flags
        seen = {
            name: running(self, name).machine(all_blas=all_blas, N=N, slow_kernels=slow_kernels)
            for name in self.programs
        }
        if seen:
            facts = {name: facts for machine in seen.values() for name, facts in machine.blas.items()}
        elif not self.program.takes_blas:
            facts = {own_blas(self): BlasFacts(kernels=("auto",), threaded=True)}
        else:
            chosen = self.ranked_blas() if all_blas else self.promising()
            facts = {
                entry.name: BlasFacts(
                    kernels=("auto", *family(entry.family).kernels(flags, entry.libraries[0]))
                    if entry.family == NVBLAS
                    else self.kernels(entry.name, slow=all_blas if slow_kernels is None else slow_kernels),
                    threaded=entry.threaded,
                    known_kernels=tuple(family(entry.family).kernels(flags, entry.libraries[0])),
                    usual_kernel=_usual_kernel(self.probes.get(entry.name, ())),
                    family=entry.family,
                )
                for entry in chosen
            }
        batch = self.nodes.cluster.batch if self.nodes else None
        return Machine(
            cores=self.host.physical_cores,
            memory_bytes=matrix_memory_bytes(self),
            blas=facts,
            N=N,
            mpis=tuple(mpi.name for mpi in self.mpis),
            nodes=self.node_count,
            node_list=self.nodes.listed if self.nodes else (),
            chooser=batch.words.title if batch else "",
            terms=terms_here(self),
            offer=self.offer,
            shape=node_shape(self),
            programs=seen,
        )

    def _rate(self, blas: str) -> float:
        probe = self.best_probe(blas)
        return probe.gflops if probe else 0.0


def running(inventory: Inventory, name: str) -> Inventory:
    """Return the same machine as if it had only the program of that name; "" is the usual one.

    Raises:
        TunerError: it has none of that name.
    """
    if not name or not inventory.programs:
        return inventory
    program = inventory.programs.get(name)
    if program is None:
        known = ", ".join(inventory.programs)
        raise TunerError(f"program {name} is none of this study (it has: {known}): name it with ⟦program⟧ NAME=FILE")
    return replace(inventory, program=program, programs={}, called=name)


def node_shape(inventory: Inventory) -> NodeShape:
    """Return what of each node ranks may be spread over."""
    host = inventory.host
    each = host.physical_cores // inventory.node_count
    gpus = inventory.gpus if matrix_on_gpus(inventory) else ()
    return NodeShape(each, host.sockets or 1, host.numa_nodes or 1, host.l3_caches or 1, gpus)


def matrix_on_gpus(inventory: Inventory) -> bool:
    """Return whether the matrix is in the memory of GPUs: a program keeps it there, a BLAS sends tiles of it."""
    return bool(inventory.gpus and inventory.program.gpus_of)


def terms_here(inventory: Inventory) -> Terms:
    """Return what the program takes, with one rank a GPU where its BLAS computes on them."""
    gpus = len(inventory.gpus)
    if not gpus or inventory.program.gpus_of:
        return inventory.program.terms
    return replace(inventory.program.terms, ranks_on_node=lambda _node: (gpus,), no_other_ranks=True)


def matrix_memory_bytes(inventory: Inventory) -> int:
    """Return the memory that a matrix on all nodes may take: what was free, or that of all GPUs where they compute."""
    if not matrix_on_gpus(inventory):
        return inventory.host.memory_available_bytes
    return inventory.node_count * len(inventory.gpus) * min(gpu.memory_bytes for gpu in inventory.gpus)


def own_blas(inventory: Inventory) -> str:
    """Return what stands in place of a BLAS in points of a program that brings its own."""
    return inventory.called or next(iter(inventory.programs), inventory.program.name)


def bringing(inventory: Inventory) -> tuple[str, ...]:
    """Return the names of those of several programs that bring a BLAS of their own, and stand in its place."""
    return tuple(name for name, program in inventory.programs.items() if not program.takes_blas)


def rivals(inventory: Inventory) -> tuple[str, ...]:
    """Return what a comparison compares: the libraries, fastest dgemm first, then programs with a BLAS of their own."""
    return (*(entry.name for entry in inventory.ranked_blas()), *bringing(inventory))


def with_one_blas(inventory: Inventory, blas: str) -> Inventory:
    """The same machine as if it had one BLAS, or only the program of that name that brings its own.

    Raises:
        TunerError: this machine has none of that name.
    """
    if blas in bringing(inventory):
        own = inventory.programs[blas]
        return replace(inventory, program=own, programs={blas: own}, blas=(), probes={})
    taking = {name: program for name, program in inventory.programs.items() if program.takes_blas}
    entries = (inventory.named(blas),)
    return replace(inventory, programs=taking, blas=entries, probes={blas: inventory.probes.get(blas, ())})


def _usual_kernel(probes: Sequence[Probe]) -> str:
    """The library's own choice, or its fastest kernel if that choice is too slow to win (see SLOW_KERNEL).

    Args:
        probes: of one library, fastest first.
    """
    slow = any(probe.kernel == "auto" and probe.gflops < SLOW_KERNEL * probes[0].gflops for probe in probes)
    return probes[0].kernel if slow else "auto"


def cores_told(machine: Inventory) -> str:
    """Write the cores of a machine, with the quota of CPU time that allows no more: "1 core (the quota of …)"."""
    cores, quota = counted(machine.host.physical_cores, "core"), machine.rpeak.quota_cpus
    if quota is None or machine.nodes:
        return cores
    return f"{cores} (the quota of its control group is {quota:g} CPU{'' if quota == 1 else 's'})"
