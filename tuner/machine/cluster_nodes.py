"""The nodes of a real cluster: asked before anything is started, so that a study begins on nodes that fit together."""

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from hpl.blas.catalogue import Blas
from hpl.build.toolchain import Mpi
from hpl.peak.rpeak import Rpeak
from runners.errors import InvalidJobError, ProcessError, UnreachableError
from runners.forwarded import require_plain
from runners.hosts.cluster import Cluster
from runners.hosts.node_facts import NodeSays, ask_nodes
from runners.hosts.transport import Transport, silent

from ..errors import TunerError
from ..units import gibibytes
from ..words import counted
from .inventory import Inventory, Nodes

SEEN = ".seen-by-all-nodes"
AskNodes = Callable[
    [Transport, Sequence[str], Sequence[Path], Path | None], Mapping[str, NodeSays | UnreachableError | ProcessError]
]
"""Asks nodes by name about themselves, about files that they should have, and about an MPI launcher."""


class NodesLostError(TunerError):
    """Nodes of a running study do not answer any more.

    Attributes:
        nodes: their names.
    """

    def __init__(self, nodes: tuple[str, ...]) -> None:
        super().__init__(f"node {', '.join(nodes)} does not answer any more")
        self.nodes = nodes


def survey_nodes(
    cluster: Cluster,
    inventory: Inventory,
    shared: Sequence[Path],
    *,
    leave_out: bool = False,
    ask: AskNodes = ask_nodes,
) -> tuple[Inventory, list[str]]:
    """Make the inventory of a cluster: libraries of this machine that all nodes have, and all nodes' cores and memory.

    Args:
        inventory: of this machine, from which ranks are started.
        shared: folders for runs and builds, which every node must see at the same path.
        leave_out: go on without nodes that do not answer.
        ask: how the nodes are asked.

    Returns:
        The inventory, and sentences about what the user should know.

    Raises:
        TunerError: a node does not answer, or does not fit to the others; the sentence names it.
    """
    program = [inventory.xhpl] if inventory.xhpl else []
    says, silent = asked(cluster, shared, inventory.mpi.mpirun, [*program, *library_files(inventory.blas)], ask)
    if silent and not (leave_out and says):
        raise TunerError("; ".join(silent))
    for sentence in (*faults(cluster, says, inventory.mpi, shared), *_lacking(says, program)):
        raise TunerError(sentence)
    blas, lacking = common_blas(inventory.blas, says)
    if lacking and not blas:
        raise TunerError(f"{'; '.join(lacking)}: no BLAS library is on all nodes")
    cores = cluster.node.cores or min(node.cores for node in says)
    memory_bytes, scarcest = _memory(cluster, says)
    nodes = Nodes(tuple(node.node for node in says), len(says), cores, memory_bytes, cluster, scarcest=scarcest)
    notices = [f"Left out: {sentence}." for sentence in (*silent, *lacking)]
    cautions = [f"Caution: {sentence}." for sentence in cautions_of(cluster, says)]
    inventory = on_nodes(replace(inventory, blas=blas), nodes, _rpeak(cluster, says, inventory, cores))
    return inventory, [*notices, _size(says, cores), *cautions]


def on_nodes(inventory: Inventory, nodes: Nodes, rpeak: Rpeak) -> Inventory:
    """An inventory whose cores and memory are those of its nodes together."""
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


def part(inventory: Inventory, number: int, parts: int) -> Inventory:
    """One of several equal parts of a cluster; nodes that are left over belong to none."""
    if inventory.nodes is None or not inventory.nodes.names:
        return inventory
    size = inventory.nodes.count // parts
    return only(inventory, inventory.nodes.names[number * size : (number + 1) * size])


def only(inventory: Inventory, names: tuple[str, ...]) -> Inventory:
    """The inventory with some of its nodes."""
    if inventory.nodes is None:
        return inventory
    share = len(names) / inventory.nodes.count
    rpeak = replace(inventory.rpeak, gflops=inventory.rpeak.gflops * share, cores=round(inventory.rpeak.cores * share))
    return on_nodes(inventory, replace(inventory.nodes, names=names, count=len(names)), rpeak)


def without(inventory: Inventory, lost: Sequence[str]) -> Inventory:
    """The same cluster after nodes were lost.

    Raises:
        TunerError: none is left.
    """
    left = tuple(name for name in inventory.node_names if name not in lost)
    if not left:
        raise TunerError(f"node {', '.join(lost)} failed, and no other is known: go on with `hpltune tune --resume`")
    return only(inventory, left)


def asked(
    cluster: Cluster, shared: Sequence[Path], mpirun: Path | None, files: Sequence[Path], ask: AskNodes = ask_nodes
) -> tuple[list[NodeSays], list[str]]:
    """What the nodes say of themselves, and the sentences about those that say nothing.

    Args:
        shared: folders that all nodes should see.
        files: that all nodes should have at the same path.
        ask: how the nodes are asked.
    """
    with ExitStack() as stack:
        tokens = [stack.enter_context(_token(folder)) for folder in shared]
        heard = ask(cluster.reach, cluster.hosts, [*tokens, *files], mpirun)
    silent = [str(said) for said in heard.values() if not isinstance(said, NodeSays)]
    return [said for said in heard.values() if isinstance(said, NodeSays)], silent


def silent_nodes(inventory: Inventory) -> tuple[str, ...]:
    """The nodes that do not answer now."""
    if inventory.nodes is None or not inventory.nodes.names:
        return ()
    return tuple(silent(inventory.nodes.cluster.reach, inventory.nodes.names))


@contextmanager
def _token(shared: Path) -> Iterator[Path]:
    """A file whose name nobody can guess, in a folder that all nodes should see."""
    shared.mkdir(parents=True, exist_ok=True)
    token = shared / f"{SEEN}-{secrets.token_hex(4)}"
    token.touch()
    try:
        yield token
    finally:
        token.unlink(missing_ok=True)


def faults(cluster: Cluster, says: Sequence[NodeSays], mpi: Mpi | None, shared: Sequence[Path]) -> Iterator[str]:
    """Why nodes cannot run together, a sentence each.

    Args:
        mpi: the library that starts ranks; None where this host has none.
        shared: folders that all nodes must see.
    """
    for node in says:
        twins = [other.node for other in says if other.hostname == node.hostname]
        if len(twins) > 1 and twins[0] == node.node:
            yield f"nodes {' and '.join(twins)} are the same machine ({node.hostname}): name it once in hosts"
        where = f"node {node.node}"
        if node.architecture != says[0].architecture:
            other = f"{says[0].node} is {says[0].architecture}"
            yield f"{where} is {node.architecture}, but {other}: no xhpl runs on both"
        for folder in shared:
            if not any(file.startswith(str(folder / SEEN)) for file in node.files):
                yield (
                    f"{where} does not see {folder}: put it on a file system that all nodes share (HPLTUNE_DATA, and "
                    "HPLTUNE_CACHE for the builds)"
                )
        if mpi is not None:
            yield from _mpi_faults(where, node, mpi)
        yield from _less_than_the_file_says(where, node, cluster)
    yield from _launcher_faults(mpi)


def _launcher_faults(mpi: Mpi | None) -> Iterator[str]:
    if mpi is None:
        yield "no MPI was found on this host: `hpltune setup` installs it"
        return
    try:
        require_plain(mpi.mpirun)
    except InvalidJobError as error:
        yield str(error)


def _less_than_the_file_says(where: str, node: NodeSays, cluster: Cluster) -> Iterator[str]:
    if cluster.node.cores and 0 < node.cores < cluster.node.cores:
        has = counted(node.cores, "core")
        yield f"{where} has {has}, but [node] of the cluster file says cores = {cluster.node.cores}: lower cores"
    for interface in cluster.interfaces:
        if interface not in node.interfaces:
            yield (
                f"{where} has no interface {interface} (there: {', '.join(node.interfaces) or 'none'}), which "
                "use_interfaces, or interfaces above [node], of the cluster file names"
            )


def _mpi_faults(where: str, node: NodeSays, mpi: Mpi) -> Iterator[str]:
    if not node.mpi:
        yield f"{where} has no {mpi.mpirun}: install the same MPI on all nodes, at the same path"
    elif mpi.version not in node.mpi:
        yield f"{where} has another MPI ({node.mpi}) than this host ({mpi.name} {mpi.version})"


def library_files(blas: Sequence[Blas]) -> list[Path]:
    """The files of BLAS libraries."""
    return [library.path for entry in blas for library in entry.libraries]


def common_blas(blas: Sequence[Blas], says: Sequence[NodeSays]) -> tuple[tuple[Blas, ...], list[str]]:
    """The BLAS libraries that all nodes have, and a sentence about each file that some lack."""
    everywhere = {path for path in library_files(blas) if all(str(path) in node.files for node in says)}
    kept = [
        replace(entry, libraries=tuple(library for library in entry.libraries if library.path in everywhere))
        for entry in blas
    ]
    return tuple(entry for entry in kept if entry.libraries), list(_lacking(says, library_files(blas)))


def _lacking(says: Sequence[NodeSays], files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        without_it = [node.node for node in says if str(file) not in node.files]
        if without_it:
            yield f"node {', '.join(without_it)} has no {file}: install it there, at the same path"


def cautions_of(cluster: Cluster, says: Sequence[NodeSays]) -> Iterator[str]:
    """How nodes differ that can run together, a sentence each."""
    first, cores = says[0], cluster.node.cores or min(node.cores for node in says)
    for node in says:
        if node.model != first.model:
            yield (
                f"node {node.node} has another CPU ({node.model}) than {first.node} ({first.model}): the slower one "
                "decides the speed, and some kernels may not run on both"
            )
        for file, checksum in node.files.items():
            if first.files.get(file, checksum) != checksum:
                yield f"node {node.node} has another {file} than {first.node}: install the same version on all nodes"
    uneven = [node.node for node in says if node.cores != cores]
    if uneven:
        yield f"{', '.join(uneven)} have different numbers of cores: {cores} a node are used"
    free_bytes, scarcest = _memory(cluster, says)
    if scarcest and cluster.node.memory_gib:
        yield (
            f"node {scarcest} has only {gibibytes(free_bytes)} free, less than memory_gib = "
            f"{cluster.node.memory_gib:g} of the cluster file: N is chosen for what is free"
        )


def _memory(cluster: Cluster, says: Sequence[NodeSays]) -> tuple[int, str]:
    """Bytes that a run may take of each node, and the node that sets them; "" where the cluster's file does."""
    scarcest = min(says, key=lambda node: node.memory_bytes or math.inf)
    allowed = cluster.node.memory_bytes([scarcest.memory_bytes])
    if not 0 < scarcest.memory_bytes <= allowed:
        return allowed, ""
    return scarcest.memory_bytes, scarcest.node


def foreign_cpu(cluster: Cluster, says: Sequence[NodeSays], cpu_model: str) -> str | None:
    """The sentence why the peak of the nodes cannot be told from this host's CPU, or None."""
    others = [node for node in says if node.model != cpu_model]
    if not others or cluster.node.rpeak_gflops:
        return None
    return (
        f"node {others[0].node} has another CPU ({others[0].model or 'unknown'}) than this host ({cpu_model}): "
        "say what a node can do with rpeak_gflops under [node] in the cluster file"
    )


def _rpeak(cluster: Cluster, says: Sequence[NodeSays], inventory: Inventory, cores: int) -> Rpeak:
    count = len(says)
    if cluster.node.rpeak_gflops:
        each, gflops = cluster.node.rpeak_gflops, count * cluster.node.rpeak_gflops
        sentence = f"Rpeak = {counted(count, 'node')} x {each:g} = {gflops:.4g} GFLOPS, from the cluster file."
        return replace(inventory.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))
    foreign = foreign_cpu(cluster, says, inventory.host.cpu_model)
    if foreign:
        raise TunerError(foreign)
    gflops = inventory.rpeak.gflops / inventory.rpeak.cores * count * cores
    sentence = (
        f"Rpeak = {counted(count, 'node')} x {cores} of this host's cores = {gflops:.4g} GFLOPS; --rpeak overrides it."
    )
    return replace(inventory.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))


def _size(says: Sequence[NodeSays], cores: int) -> str:
    each = counted(cores, "core")
    free = gibibytes(min(node.memory_bytes for node in says))
    return f"{counted(len(says), 'node')} with {each} and at least {free} free each."
