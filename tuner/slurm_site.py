"""A cluster behind Slurm: what it says of its nodes, and the runner that gets some of them."""

from dataclasses import replace
from pathlib import Path

from runners.cluster import Cluster, SlurmTable
from runners.launchers.base import ByMpi, Launcher
from runners.launchers.srun import Srun
from runners.slurm.client import candidates
from runners.slurm.nodes import NodeFacts
from runners.slurm.runner import SPARE_S, SlurmRunner

from .errors import TunerError
from .nodes import on_nodes
from .site import Nodes, Site
from .units import gibibytes

BY_SRUN = {"openmpi": ("pmix", "OMPI_MCA_"), "mpich": ("pmi2", ""), "intelmpi": ("pmi2", "")}
"""How srun starts the ranks of a library, and what makes a variable of the name of one of its parameters."""


def survey_slurm(cluster: Cluster, table: SlurmTable, site: Site) -> tuple[Site, list[str]]:
    """The site of an allocation: this machine's libraries, cores and memory as Slurm knows them.

    Returns:
        The site, and sentences about what the user should know.

    Raises:
        TunerError: there are not so many nodes.
        runners.errors.RunnerError: Slurm is not there, or has no such partition.
    """
    usable = [node for node in candidates_of(table) if node.usable]
    where = f"partition {table.partition}" if table.partition else "Slurm"
    if len(usable) < table.nodes:
        raise TunerError(f"{table.nodes} nodes are asked, but {where} has {len(usable)} that can run jobs")
    cores = cluster.node.cores or min(node.cores for node in usable)
    memory_bytes = cluster.node.memory_bytes(node.memory_bytes for node in usable)
    longest_s = max(1.0, table.time_limit_s - SPARE_S)
    nodes = Nodes((), table.nodes, cores, memory_bytes, cluster, longest_s)
    gflops = cluster.node.rpeak_gflops or site.rpeak.gflops / site.rpeak.cores * cores
    origin = "from the cluster file" if cluster.node.rpeak_gflops else "taken to be like this host's: see [node]"
    sentence = f"Rpeak = {table.nodes} nodes x {gflops:.4g} = {table.nodes * gflops:.4g} GFLOPS, {origin}."
    rpeak = replace(site.rpeak, gflops=table.nodes * gflops, cores=table.nodes * cores, reasoning=(sentence,))
    notice = f"Nodes from {where}: {table.nodes} with {cores} cores and {gibibytes(memory_bytes)} each."
    return on_nodes(site, nodes, rpeak), [notice]


def candidates_of(table: SlurmTable) -> tuple[NodeFacts, ...]:
    """The nodes among which Slurm chooses for a study's jobs.

    Raises:
        runners.errors.RunnerError: Slurm is not there, or has no such partition.
    """
    return candidates(table.partition, table.nodelist, table.exclude, table.constraint)


def slurm_runner(table: SlurmTable, site: Site, mpiruns: ByMpi, queue_limit_s: float, folder: Path) -> SlurmRunner:
    """The runner that asks Slurm for the nodes of a site.

    Args:
        mpiruns: the launchers of the MPI libraries themselves.
        queue_limit_s: how long a study may wait for its nodes.
        folder: on the file system that all nodes share.
    """
    launchers: dict[str, Launcher] = {}
    for mpi, own in mpiruns.launchers.items():
        pmi, prefix = BY_SRUN[mpi]
        launchers[mpi] = Srun(table.nodes, pmi, prefix) if table.launcher == "srun" else own
    cores = site.nodes.cores if site.nodes else site.host.physical_cores
    return SlurmRunner(table.options(cores, queue_limit_s), ByMpi(launchers), folder)
