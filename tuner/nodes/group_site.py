"""Which nodes of a cluster can run HPL together, asked before anything is measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpl.build.toolchain import Mpi
from runners.hosts.cluster import Cluster
from runners.hosts.node_facts import NodeSays

from ..errors import TunerError
from ..machine.cluster_nodes import ask_cluster
from ..machine.interfaces import rdma_ports
from ..machine.node_checks import lacking_files, memory_of, node_faults
from ..words import counted


@dataclass(frozen=True)
class GroupSite:
    """The nodes of a cluster that can run HPL together.

    Attributes:
        names: in the order of the cluster file.
        cores: used on each node, a rank on each.
        memory_bytes: free memory of the node that has least.
        notes: why other nodes are in no group.
        rdma: ports of InfiniBand and RoCE, and the interface of each.
    """

    cluster: Cluster
    mpi: Mpi
    names: tuple[str, ...]
    cores: int
    memory_bytes: int
    notes: tuple[str, ...] = ()
    rdma: tuple[tuple[str, str], ...] = ()


def group_site(cluster: Cluster, size: int, mpi: Mpi, files: Sequence[Path], shared: Sequence[Path]) -> GroupSite:
    """Ask all nodes for the MPI library and the files that HPL needs there; one that does not answer is left out.

    Args:
        size: nodes of a group.
        files: files that nodes need at the same path.
        shared: folders that all nodes must see, unless programs are copied.

    Raises:
        TunerError: fewer nodes than a group has can run HPL; the sentence says why.
    """
    says, _ = ask_cluster(cluster, shared, mpi.mpirun, files)
    unfit = {node.node: why for node in says if (why := _why_unfit(cluster, node, mpi, files, shared))}
    fit = [node for node in says if node.node not in unfit]
    if unfit and len(fit) < size:
        can = f"only {counted(len(fit), 'node')} of {len(cluster.hosts)} can run it" if fit else "no node can run it"
        raise TunerError(f"HPL does not run on groups of {size}, because {can}: {next(iter(unfit.values()))}")
    for sentence in node_faults(cluster, fit, mpi, shared):
        raise TunerError(f"HPL does not run on groups of {size}: {sentence}")
    cores = cluster.node.cores or min((node.cores for node in fit), default=1)
    memory_bytes = memory_of(cluster, fit)[0] if fit else 0
    notes = tuple(f"In no group: {why}." for why in unfit.values())
    return GroupSite(cluster, mpi, tuple(node.node for node in fit), cores, memory_bytes, notes, rdma_ports(fit))


def _why_unfit(cluster: Cluster, node: NodeSays, mpi: Mpi, files: Sequence[Path], shared: Sequence[Path]) -> str:
    """Return the first sentence why a node cannot run HPL with others, or ""."""
    faults = [*node_faults(cluster, [node], mpi, shared), *lacking_files([node], files)]
    return faults[0] if faults else ""
