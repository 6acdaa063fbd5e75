"""A virtual cluster as searches and reports see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hpl.build.simgrid import SimGrid, build_virtual, find_simgrid, virtual_xhpl
from hpl.build.source import HplSource
from hpl.errors import HplError
from hpl.programs.registry import cached_source, obtain
from hpl.search_paths import SearchPaths
from hpl.sizing import NodeShare, n_for_memory, process_grids
from results.record import SIMULATOR
from runners.toml_file import GIB, validated
from runners.virtual.cluster import Switch, VirtualCluster, VirtualNodes

from ..events import BuildStep, Listener, Notice
from ..machine.equipment import Equipment, NodeKind
from ..machine.problem_size import STEP
from ..user_dirs import UserDirs
from ..words import with_options


@dataclass(frozen=True)
class SimulatedCluster:
    """A virtual cluster and the simulator that runs HPL on it."""

    cluster: VirtualCluster
    simgrid: SimGrid
    source: HplSource
    program: Path
    program_key: str

    @classmethod
    def open(
        cls, cluster: VirtualCluster, user_dirs: UserDirs, hpl_source: Path | None, listener: Listener | None
    ) -> "SimulatedCluster":
        """Find SimGrid and build the simulated xhpl; the listener hears why the cluster's figures may be wrong.

        Raises:
            hpl.errors.HplError: SimGrid or HPL's source is missing; the sentence says how to get it.
        """
        if listener is not None and cluster.caution:
            listener(Notice(cluster.caution, caution=True))
        search = SearchPaths(prefix=user_dirs.prefix, cache=user_dirs.cache)
        simgrid = find_simgrid(search)
        source = obtain(search, hpl_source)
        on_step = None if listener is None else lambda *step: listener(BuildStep(*step))
        program = build_virtual(source, simgrid, search, on_step)
        return cls(cluster, simgrid, source, program.path, program.key)

    @classmethod
    def ready(cls, cluster: VirtualCluster, user_dirs: UserDirs) -> "SimulatedCluster | None":
        """The same where all is here and built; None where something would have to be fetched or built."""
        search = SearchPaths(prefix=user_dirs.prefix, cache=user_dirs.cache)
        try:
            simgrid, source = find_simgrid(search), cached_source(search)
        except HplError:
            return None
        program = None if source is None else virtual_xhpl(source, simgrid, search)
        if source is None or program is None or not program.path.is_file():
            return None
        return cls(cluster, simgrid, source, program.path, program.key)

    @property
    def simulator(self) -> str:
        """Name and version of what stands for the machine."""
        return f"SimGrid {self.simgrid.version}"

    def largest_n(self, fraction: float) -> int:
        """The largest N that needs at most this part of each node's memory, on all cores and the squarest grid."""
        nodes = [NodeShare(int(group.memory_gib * GIB), group.cores) for group in self.cluster.node_list]
        P, Q = process_grids(self.cluster.cores)[0]
        return n_for_memory(nodes, fraction=fraction, NB=STEP, P=P, Q=Q)

    def facts(self) -> dict[str, Any]:
        """What a study stores of its machine."""
        cluster = self.cluster
        return {
            "backend": "simgrid",
            "virtual_cluster": cluster.name,
            "description": cluster.description,
            "nodes": len(cluster.node_list),
            "physical_cores": cluster.cores,
            "memory_bytes": int(GIB * sum(node.memory_gib for node in cluster.node_list)),
            "networks": list(cluster.networks),
        }

    def versions(self) -> dict[str, str]:
        """The versions of all that may change a result."""
        return {
            "hpltune": version("hpltune"),
            "hpl": with_options(f"{self.source.version} ({self.source.origin})"),
            SIMULATOR: self.simulator,
            "optuna": version("optuna"),
        }


def equipment_of(cluster: VirtualCluster, rpeak_gflops: float | None = None) -> Equipment:
    """The nodes that configurations may use; each has an equal part of the switch, and of figures stated for all nodes.

    Args:
        rpeak_gflops: of all nodes; None takes what their cores and clocks give.
    """
    count = len(cluster.node_list)
    part = (rpeak_gflops or cluster.rpeak_gflops) / cluster.rpeak_gflops

    def kind(group: VirtualNodes, switch: Switch) -> NodeKind:
        return NodeKind(
            count=group.count,
            cores=group.cores,
            rpeak_gflops=part * group.cores * group.clock_ghz * group.flops_per_cycle,
            price_usd=cluster.price_usd / count if cluster.price_usd else group.price_usd + switch.price_usd / count,
            power_w=cluster.power_w / count if cluster.power_w else group.power_w + switch.power_w / count,
            speed=group.speed,
        )

    return Equipment(
        {
            name: tuple(kind(group, network.switch) for group in cluster.nodes)
            for name, network in cluster.networks.items()
        }
    )


def cluster_dict(cluster: VirtualCluster) -> dict[str, Any]:
    """A cluster as JSON can hold it; a study stores it."""
    return cluster.model_dump(mode="json", exclude_defaults=True)


def cluster_from(stored: Mapping[str, Any]) -> VirtualCluster:
    """The cluster that a study stored.

    Raises:
        runners.toml_file.ClusterFileError: it cannot be used.
    """
    return validated(VirtualCluster, "the stored cluster", stored)
