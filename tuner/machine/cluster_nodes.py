"""Asks the nodes of a real cluster before anything is started, so that a study begins on nodes that fit together."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from hpl.private_files import private_folder
from hpl.rpeak import Rpeak
from results.metrics import four_digits
from runners.containers.contract import Container
from runners.containers.looking import starts_nothing
from runners.errors import ProcessError, UnreachableError
from runners.forwarded import module_folders
from runners.hosts.cluster import Cluster
from runners.hosts.copies import try_copy
from runners.hosts.node_facts import NodeSays, ask_nodes, own_networks
from runners.hosts.transport import Transport, silent
from runners.readiness.networks import ways_between
from runners.settings.registry import HostsOffer

from ..errors import TunerError
from ..events import Notice
from ..units import gibibytes
from ..words import counted
from .interfaces import interfaces_between, rdma_ports, unused_ports
from .inventory import Inventory, Nodes
from .node_checks import (
    SEEN,
    common_blas,
    folders_to_see,
    foreign_cpu,
    lacking_files,
    memory_of,
    needed_on_nodes,
    node_cautions,
    node_faults,
    said_together,
)
from .node_shapes import common_gpus, gpus_of, gpus_rpeak, on_gpus, shaped, unlike_nodes

AskNodes = Callable[
    [Transport, Sequence[str], Sequence[Path], Path | None], Mapping[str, NodeSays | UnreachableError | ProcessError]
]
"""Asks nodes by name about themselves, about files that they should have, and about an MPI launcher."""


def survey_nodes(
    cluster: Cluster,
    inventory: Inventory,
    shared: Sequence[Path],
    *,
    leave_out: bool = False,
    without: Sequence[str] = (),
    ask: AskNodes = ask_nodes,
) -> tuple[Inventory, list[Notice]]:
    """Make the inventory of a cluster: libraries of this machine that all nodes have, and all nodes' cores and memory.

    Args:
        inventory: what was found on this machine, from which ranks are started.
        shared: folders for runs and builds, which every node must see at the same path, unless programs are copied.
        leave_out: go on without nodes that do not answer.
        without: nodes of the cluster that are not to be used, and not asked.
        ask: how the nodes are asked.

    Returns:
        The inventory, and notices of what the user should know.

    Raises:
        TunerError: a node does not answer, or does not fit the others; the sentence names it.
    """
    program = [] if cluster.copies else inventory.program.files
    needed = needed_on_nodes(cluster, inventory.blas)
    wanted = cluster.model_copy(update={"hosts": tuple(host for host in cluster.hosts if host not in without)})
    says, silent = ask_cluster(wanted, shared, inventory.mpi.mpirun, [*program, *needed], ask)
    if silent and not (leave_out and says):
        _, narrow, _ = ways_between(wanted.reach, wanted.hosts, [node.node for node in says], cluster.interfaces)
        raise TunerError("; ".join((*silent, *narrow)))
    for sentence in (*node_faults(cluster, says, inventory.mpi, shared), *lacking_files(says, program)):
        raise TunerError(sentence)
    blas, lacking = common_blas(inventory.blas, says, needed)
    if lacking and not blas:
        raise TunerError(f"{'; '.join(lacking)}: no BLAS library is on all nodes")
    if failed := not_brought(cluster, inventory.container, says):
        raise TunerError("; ".join(failed))
    cores = cluster.node.cores or min(node.cores for node in says)
    memory_bytes, scarcest = memory_of(cluster, says)
    names = tuple(node.node for node in says)
    between = interfaces_between(cluster, says, own_networks())
    nodes = Nodes(
        names,
        len(says),
        cores,
        memory_bytes,
        cluster,
        scarcest=scarcest,
        interfaces=between.names,
        rdma=rdma_ports(says),
    )
    notices = [Notice(f"Left out: {sentence}.") for sentence in (*silent, *lacking)]
    cautions = [Notice(f"{sentence}.", caution=True) for sentence in node_cautions(cluster, says)]
    if unused := unused_ports(cluster, rdma_ports(says)):
        cautions.append(Notice(f"{unused}.", caution=True))
    if between.doubtful or (between.names and not cluster.interfaces):
        cautions.append(Notice(f"{between.sentence}.", caution=between.doubtful))
    offer = HostsOffer({node.node: node.system for node in says})
    inventory = replace(inventory, blas=blas, offer=offer, host=shaped(inventory.host, says))
    name, vendor = on_gpus(inventory)
    if vendor:
        found = gpus_of(says, name, vendor)
        inventory = replace(inventory, gpus=common_gpus(found))
        rpeak = gpus_rpeak(cluster, found, inventory, cores)
    else:
        rpeak = _rpeak(cluster, says, inventory, cores)
    cautions += [Notice(f"{sentence}.", caution=True) for sentence in unlike_nodes(says, vendor)]
    inventory = on_nodes(inventory, nodes, rpeak)
    free = gibibytes(min(node.memory_bytes for node in says))
    size = Notice(f"{counted(len(says), 'node')} with {counted(cores, 'core')} and at least {free} free each.")
    return inventory, [*notices, size, *cautions]


def not_brought(cluster: Cluster, container: Container | None, says: Sequence[NodeSays]) -> list[str]:
    """Say on which nodes programs cannot be had: they are not copied there, or nothing starts in their image."""
    nodes = [node.node for node in says]
    return said_together(starts_nothing(container, cluster.reach, nodes) if container else try_copy(cluster, nodes))


def on_nodes(inventory: Inventory, nodes: Nodes, rpeak: Rpeak) -> Inventory:
    """Make the inventory of nodes: their cores and memory are counted together."""
    count = nodes.count
    host = replace(
        inventory.host,
        hostname=nodes.cluster.name,
        physical_cores=count * nodes.cores,
        logical_cpus=count * nodes.cores,
        memory_total_bytes=count * nodes.memory_bytes,
        memory_available_bytes=count * nodes.memory_bytes,
    )
    return replace(inventory, host=host, rpeak=rpeak, nodes=nodes)


def part_of(inventory: Inventory, number: int, parts: int) -> Inventory:
    """One of several equal parts of a cluster; nodes that are left over belong to none."""
    if inventory.nodes is None or not inventory.nodes.names:
        return inventory
    size = inventory.nodes.count // parts
    return with_nodes(inventory, inventory.nodes.names[number * size : (number + 1) * size])


def with_nodes(inventory: Inventory, names: tuple[str, ...]) -> Inventory:
    """The inventory with some of its nodes."""
    if inventory.nodes is None:
        return inventory
    share = len(names) / inventory.nodes.count
    rpeak = replace(inventory.rpeak, gflops=inventory.rpeak.gflops * share, cores=round(inventory.rpeak.cores * share))
    return on_nodes(inventory, replace(inventory.nodes, names=names, count=len(names)), rpeak)


def without_nodes(inventory: Inventory, lost: Sequence[str]) -> Inventory:
    """The same cluster after nodes were lost.

    Raises:
        TunerError: none is left.
    """
    left = tuple(name for name in inventory.node_names if name not in lost)
    if not left:
        raise TunerError(f"node {', '.join(lost)} failed, and no other is known: go on with `hpltune tune ⟦resume⟧`")
    return with_nodes(inventory, left)


def ask_cluster(
    cluster: Cluster, shared: Sequence[Path], mpirun: Path | None, files: Sequence[Path], ask: AskNodes = ask_nodes
) -> tuple[list[NodeSays], list[str]]:
    """What the nodes say of themselves, and the sentences about those that say nothing.

    Args:
        shared: folders that all nodes should see, unless programs are copied to them.
        files: that all nodes should have at the same path.
        ask: how the nodes are asked.
    """
    with ExitStack() as stack:
        tokens = [stack.enter_context(_token(folder)) for folder in folders_to_see(cluster, shared)]
        heard = ask(cluster.reach, cluster.hosts, [*tokens, *files, *module_folders], mpirun)
    silent = {node: str(said) for node, said in heard.items() if not isinstance(said, NodeSays)}
    return [said for said in heard.values() if isinstance(said, NodeSays)], said_together(silent)


def silent_nodes(inventory: Inventory) -> tuple[str, ...]:
    """The nodes that do not answer now."""
    if inventory.nodes is None or not inventory.nodes.names:
        return ()
    return tuple(silent(inventory.nodes.cluster.reach, inventory.nodes.names))


@contextmanager
def _token(shared: Path) -> Iterator[Path]:
    """A file whose name nobody can guess, in a folder that all nodes should see."""
    private_folder(shared)
    token = shared / f"{SEEN}-{secrets.token_hex(4)}"
    token.touch()
    try:
        yield token
    finally:
        token.unlink(missing_ok=True)


def _rpeak(cluster: Cluster, says: Sequence[NodeSays], inventory: Inventory, cores: int) -> Rpeak:
    count = len(says)
    if cluster.node.rpeak_gflops:
        each, gflops = cluster.node.rpeak_gflops, count * cluster.node.rpeak_gflops
        sentence = f"Rpeak = {counted(count, 'node')} x {each:g} = {four_digits(gflops)} GFLOPS, from the cluster file."
        return replace(inventory.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))
    foreign = foreign_cpu(cluster, says, inventory.host.cpu_model)
    if foreign:
        raise TunerError(foreign)
    gflops = inventory.rpeak.gflops / inventory.rpeak.cores * count * cores
    sentence = (
        f"Rpeak = {counted(count, 'node')} x {cores} of this host's cores = {four_digits(gflops)} GFLOPS; ⟦rpeak⟧ "
        "overrides it."
    )
    return replace(inventory.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))
