"""Makes the inventory of a cluster behind Slurm, and the runner that gets nodes from it."""

from dataclasses import replace
from pathlib import Path

from runners.hosts.cluster import Cluster, SlurmTable
from runners.launchers.base import ByMpi, Launcher
from runners.launchers.srun import Srun
from runners.slurm.runner import SPARE_S, SlurmRunner

from ..errors import TunerError
from ..units import gibibytes
from ..words import counted
from .cluster_nodes import on_nodes
from .interfaces import through_slurm
from .inventory import Inventory, Nodes
from .slurm_facts import BY_SRUN, ask_slurm, slurm_faults


def survey_slurm(cluster: Cluster, table: SlurmTable, inventory: Inventory) -> tuple[Inventory, list[str]]:
    """Make the inventory of an allocation: libraries of this machine, cores and memory as Slurm knows them.

    Returns:
        The inventory, and sentences about what the user should know.

    Raises:
        TunerError: Slurm does not give what is asked; the sentence says what.
        runners.errors.RunnerError: Slurm is not there.
    """
    facts = ask_slurm(table)
    for sentence in slurm_faults(cluster, table, facts, inventory.mpi):
        raise TunerError(f"Slurm: {sentence}")
    where = f"partition {table.partition}" if table.partition else "Slurm"
    usable = facts.usable(cluster.node.cores)
    cores = cluster.node.cores or min(node.cores for node in usable)
    memory_bytes = cluster.node.memory_bytes(node.memory_bytes for node in usable)
    table = table.model_copy(update={"time_limit_s": facts.time_limit_s(table)})
    cluster = cluster.model_copy(update={"slurm": table})
    longest_s = max(1.0, facts.time_limit_s(table) - SPARE_S)
    nodes = Nodes((), table.nodes, cores, memory_bytes, cluster, longest_s)
    gflops = cluster.node.rpeak_gflops or inventory.rpeak.gflops / inventory.rpeak.cores * cores
    origin = "from the cluster file" if cluster.node.rpeak_gflops else "taken to be like this host's: see [node]"
    sentence = f"Rpeak = {counted(table.nodes, 'node')} x {gflops:.4g} = {table.nodes * gflops:.4g} GFLOPS, {origin}."
    rpeak = replace(inventory.rpeak, gflops=table.nodes * gflops, cores=table.nodes * cores, reasoning=(sentence,))
    notice = f"Nodes from {where}: {table.nodes} with {counted(cores, 'core')} and {gibibytes(memory_bytes)} each."
    limited = through_slurm(cluster, inventory.mpi.name)
    return on_nodes(inventory, nodes, rpeak), [notice, *([f"{limited}."] if limited else [])]


def slurm_runner(inventory: Inventory, mpiruns: ByMpi, queue_limit_s: float, folder: Path) -> SlurmRunner:
    """Make the runner that asks Slurm for the nodes of an inventory.

    Args:
        mpiruns: the launchers of the MPI libraries themselves.
        queue_limit_s: how long a study may wait for its nodes.
        folder: on the file system that all nodes share.
    """
    if inventory.nodes is None or inventory.nodes.cluster.slurm is None:
        raise TunerError("this machine is no cluster behind Slurm")
    table = inventory.nodes.cluster.slurm
    launchers: dict[str, Launcher] = {}
    for mpi, own in mpiruns.launchers.items():
        pmi, prefix = BY_SRUN[mpi]
        launchers[mpi] = Srun(table.nodes, pmi, prefix) if table.launcher == "srun" else own
    return SlurmRunner(table.options(inventory.nodes.cores, queue_limit_s), ByMpi(launchers), folder)
