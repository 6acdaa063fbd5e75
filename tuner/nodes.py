"""The nodes of a real cluster: asked before anything is started, so that a study begins on nodes that fit together."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hpl.rpeak import Rpeak
from hpl.toolchain import Mpi
from runners.cluster import Cluster
from runners.node_facts import NodeSays, ask_nodes
from runners.reach import silent

from .errors import TunerError
from .site import Nodes, Site
from .units import gibibytes

SEEN = ".seen-by-all-nodes"


class NodesLostError(TunerError):
    """Nodes of a running study do not answer any more.

    Attributes:
        nodes: their names.
    """

    def __init__(self, nodes: tuple[str, ...]) -> None:
        super().__init__(f"node {', '.join(nodes)} does not answer any more")
        self.nodes = nodes


def survey_nodes(cluster: Cluster, site: Site, shared: Path, *, leave_out: bool = False) -> tuple[Site, list[str]]:
    """The site of a cluster: this machine's libraries, all nodes' cores and memory.

    Args:
        site: this machine, from which ranks are started.
        shared: folder for runs, which every node must see at the same path.
        leave_out: go on without nodes that do not answer.

    Returns:
        The site, and sentences about what the user should know.

    Raises:
        TunerError: a node does not answer, or does not fit to the others; the sentence names it.
    """
    says, silent = asked(cluster, shared, site.mpi.mpirun)
    if silent and not (leave_out and says):
        raise TunerError("; ".join(silent))
    for sentence in faults(cluster, says, site.mpi, shared):
        raise TunerError(sentence)
    cores = cluster.node.cores or min(node.cores for node in says)
    memory_bytes = cluster.node.memory_bytes(node.memory_bytes for node in says)
    nodes = Nodes(tuple(node.node for node in says), len(says), cores, memory_bytes, cluster)
    notices = [f"Left out: {sentence}." for sentence in silent]
    return on_nodes(site, nodes, _rpeak(cluster, says, site, cores)), [*notices, *_notices(says, cores)]


def on_nodes(site: Site, nodes: Nodes, rpeak: Rpeak) -> Site:
    """A site whose cores and memory are those of its nodes together."""
    count = nodes.count
    host = replace(
        site.host,
        hostname=nodes.cluster.name,
        physical_cores=count * nodes.cores,
        logical_cpus=count * nodes.cores,
        memory_total_bytes=count * nodes.memory_bytes,
        memory_available_bytes=count * nodes.memory_bytes,
    )
    return replace(site, host=host, rpeak=rpeak, nodes=nodes)


def part(site: Site, number: int, parts: int) -> Site:
    """One of several equal parts of a cluster; nodes that are left over belong to none."""
    if site.nodes is None or not site.nodes.names:
        return site
    size = site.nodes.count // parts
    return only(site, site.nodes.names[number * size : (number + 1) * size])


def only(site: Site, names: tuple[str, ...]) -> Site:
    """The site with some of its nodes."""
    if site.nodes is None:
        return site
    share = len(names) / site.nodes.count
    rpeak = replace(site.rpeak, gflops=site.rpeak.gflops * share, cores=round(site.rpeak.cores * share))
    return on_nodes(site, replace(site.nodes, names=names, count=len(names)), rpeak)


def without(site: Site, lost: Sequence[str]) -> Site:
    """The same cluster after nodes were lost.

    Raises:
        TunerError: none is left.
    """
    left = tuple(name for name in site.node_names if name not in lost)
    if not left:
        raise TunerError(f"node {', '.join(lost)} failed, and no other is known: go on with `hpltune tune --resume`")
    return only(site, left)


def asked(cluster: Cluster, shared: Path | None, mpirun: Path | None) -> tuple[list[NodeSays], list[str]]:
    """What the nodes say of themselves, and the sentences about those that say nothing."""
    with _token(shared) as token:
        heard = ask_nodes(cluster.reach, cluster.hosts, token, mpirun)
    silent = [str(said) for said in heard.values() if not isinstance(said, NodeSays)]
    return [said for said in heard.values() if isinstance(said, NodeSays)], silent


def silent_nodes(site: Site) -> tuple[str, ...]:
    """The nodes that do not answer now."""
    if site.nodes is None or not site.nodes.names:
        return ()
    return tuple(silent(site.nodes.cluster.reach, site.nodes.names))


@contextmanager
def _token(shared: Path | None) -> Iterator[Path | None]:
    """A file with a word that nobody can guess, in the folder that all nodes should see."""
    if shared is None:
        yield None
        return
    shared.mkdir(parents=True, exist_ok=True)
    token = shared / f"{SEEN}-{secrets.token_hex(4)}"
    token.write_text(token.name, encoding="utf-8")
    try:
        yield token
    finally:
        token.unlink(missing_ok=True)


def faults(cluster: Cluster, says: Sequence[NodeSays], mpi: Mpi | None, shared: Path) -> Iterator[str]:
    """Why nodes cannot run together, a sentence each.

    Args:
        mpi: the library that starts ranks; None where this host has none.
        shared: what all nodes must see.
    """
    for node in says:
        twins = [other.node for other in says if other.hostname == node.hostname]
        if len(twins) > 1 and twins[0] == node.node:
            yield f"nodes {' and '.join(twins)} are the same machine ({node.hostname}): name it once in hosts"
        where = f"node {node.node}"
        if node.architecture != says[0].architecture:
            other = f"{says[0].node} is {says[0].architecture}"
            yield f"{where} is {node.architecture}, but {other}: no xhpl runs on both"
        if not node.token.startswith(SEEN):
            yield (
                f"{where} does not see {shared}: put it on a file system that all nodes share (HPLTUNE_DATA, and "
                "HPLTUNE_CACHE for the builds)"
            )
        if mpi is not None:
            yield from _mpi_faults(where, node, mpi)
        for interface in cluster.interfaces:
            if interface not in node.interfaces:
                yield f"{where} has no interface {interface} (there: {', '.join(node.interfaces) or 'none'})"
    if mpi is None:
        yield "no MPI was found on this host: `hpltune setup` installs it"


def _mpi_faults(where: str, node: NodeSays, mpi: Mpi) -> Iterator[str]:
    if not node.mpi:
        yield f"{where} has no {mpi.mpirun}: install the same MPI on all nodes, at the same path"
    elif mpi.version not in node.mpi:
        yield f"{where} has another MPI ({node.mpi}) than this host ({mpi.name} {mpi.version})"


def _rpeak(cluster: Cluster, says: Sequence[NodeSays], site: Site, cores: int) -> Rpeak:
    count = len(says)
    if cluster.node.rpeak_gflops:
        each, gflops = cluster.node.rpeak_gflops, count * cluster.node.rpeak_gflops
        sentence = f"Rpeak = {count} nodes x {each:g} = {gflops:.4g} GFLOPS, from the cluster file."
        return replace(site.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))
    others = [node for node in says if node.model != site.host.cpu_model]
    if others:
        raise TunerError(
            f"node {others[0].node} has another CPU ({others[0].model or 'unknown'}) than this host "
            f"({site.host.cpu_model}): say what a node can do with rpeak_gflops under [node] in the cluster file"
        )
    gflops = site.rpeak.gflops / site.rpeak.cores * count * cores
    sentence = f"Rpeak = {count} nodes x {cores} of this host's cores = {gflops:.4g} GFLOPS; --rpeak overrules it."
    return replace(site.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))


def _notices(says: Sequence[NodeSays], cores: int) -> list[str]:
    memories = [node.memory_bytes for node in says]
    each = "1 core" if cores == 1 else f"{cores} cores"
    notices = [f"{len(says)} nodes with {each} and at least {gibibytes(min(memories))} free each."]
    uneven = [node.node for node in says if node.cores != cores]
    if uneven:
        notices.append(f"Caution: {', '.join(uneven)} have another number of cores: {cores} a node are used.")
    return notices
