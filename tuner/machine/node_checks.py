"""Says why nodes of a cluster cannot run together, and how they differ."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hpl.blas.catalogue import Blas
from hpl.blas.registry import family
from hpl.build.toolchain import Mpi
from results.node_check import ranges
from runners.errors import InvalidJobError
from runners.forwarded import module_folders, require_plain
from runners.hosts.cluster import Cluster
from runners.hosts.node_facts import CLONES, NEW_ID, Identity, NodeSays, same_host, same_hostname, same_image

from ..units import gibibytes
from ..words import counted, listed

SEEN = ".seen-by-all-nodes"
"""How the names of files begin that are put into shared folders, for all nodes to see."""


def folders_to_see(cluster: Cluster, shared: Sequence[Path]) -> Sequence[Path]:
    """The shared folders that all nodes must see; none if programs are copied to them."""
    return () if cluster.copies else shared


def node_faults(cluster: Cluster, says: Sequence[NodeSays], mpi: Mpi | None, shared: Sequence[Path]) -> Iterator[str]:
    """Why nodes cannot run together, a sentence each.

    Args:
        mpi: the library that starts ranks; None where this host has none.
        shared: folders that all nodes must see, unless programs are copied to them.
    """
    yield from _one_machine(says)
    for node in says:
        where = f"node {node.node}"
        if node.architecture != says[0].architecture:
            other = f"{says[0].node} is {says[0].architecture}"
            yield f"{where} is {node.architecture}, but {other}: no xhpl runs on both"
        for folder in folders_to_see(cluster, shared):
            if not any(file.startswith(str(folder / SEEN)) for file in node.files):
                yield (
                    f"{where} does not see {folder}: put it on a file system that all nodes share (HPLTUNE_DATA, and "
                    'HPLTUNE_CACHE for the builds), or let hpltune copy programs: stage = "copy" in the cluster file'
                )
        if mpi is not None and not node.mpi:
            yield f"{where} has no {mpi.mpirun}: install the same MPI on all nodes, at the same path"
        elif mpi is not None and mpi.version not in node.mpi:
            yield f"{where} has another MPI ({node.mpi}) than this host ({mpi.name} {mpi.version})"
        yield from _less_than_the_file_says(where, node, cluster)
    yield from _launcher_faults(mpi)
    yield from (
        f"{why}: modules of the cluster file name it"
        for why in lacking_files(says, () if cluster.copies else module_folders)
    )


def _identities(says: Sequence[NodeSays]) -> dict[str, Identity]:
    return {node.node: replace(node.identity, hostname=node.hostname) for node in says}


def _one_machine(says: Sequence[NodeSays]) -> Iterator[str]:
    """Which names lead to one machine, or to machines that MPI takes for one."""
    identities = _identities(says)
    for names in same_host(identities):
        yield f"nodes {listed(names)} are the same machine ({identities[names[0]].hostname}): name it once in hosts"
    for names in same_hostname(identities):
        yield (
            f"nodes {listed(names)} call themselves by one name ({identities[names[0]].hostname}), by which MPI tells "
            "nodes apart: give each a hostname of its own, or name it once in hosts if they are one machine"
        )


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


def needed_on_nodes(cluster: Cluster, blas: Sequence[Blas]) -> list[Path]:
    """The files of BLAS libraries that nodes must have, because they are not copied to them."""
    files = [library for entry in blas for library in entry.libraries]
    return [file.path for file in files if not (cluster.copies and family(file.family).copyable)]


def common_blas(
    blas: Sequence[Blas], says: Sequence[NodeSays], needed: Sequence[Path]
) -> tuple[tuple[Blas, ...], list[str]]:
    """The BLAS libraries that all nodes have or get, and a sentence about each file that some lack.

    Args:
        needed: files that nodes must have.
    """
    lacking = {path for path in needed if not all(str(path) in node.files for node in says)}
    kept = [
        replace(entry, libraries=tuple(library for library in entry.libraries if library.path not in lacking))
        for entry in blas
    ]
    return tuple(entry for entry in kept if entry.libraries), list(lacking_files(says, needed))


def said_together(sentences: Mapping[str, str]) -> list[str]:
    """Say once what is the same of several nodes.

    Args:
        sentences: by node, each beginning with "node NAME: ".
    """
    groups: dict[str, list[str]] = {}
    for node, sentence in sentences.items():
        groups.setdefault(sentence.removeprefix(f"node {node}: "), []).append(node)
    return [f"node{'s' if len(nodes) > 1 else ''} {ranges(nodes)}: {why}" for why, nodes in groups.items()]


def lacking_files(says: Sequence[NodeSays], files: Sequence[Path]) -> Iterator[str]:
    """Say which nodes lack a file, one sentence for each file."""
    for file in files:
        without_it = [node.node for node in says if str(file) not in node.files]
        if without_it:
            yield f"node {', '.join(without_it)} has no {file}: install it there, at the same path"


def node_cautions(cluster: Cluster, says: Sequence[NodeSays]) -> Iterator[str]:
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
    for names in same_image(_identities(says)):
        yield f"nodes {ranges(names)} {CLONES}: `{NEW_ID}` makes a new one"
    uneven = [node.node for node in says if node.cores != cores]
    if uneven:
        yield f"{counted(cores, 'core')} of each node: {ranges(uneven)} {'has' if len(uneven) == 1 else 'have'} more"
    free_bytes, scarcest = memory_of(cluster, says)
    if scarcest and cluster.node.memory_gib:
        yield (
            f"node {scarcest} has only {gibibytes(free_bytes)} free, less than memory_gib = "
            f"{cluster.node.memory_gib:g} of the cluster file: N is chosen for what is free"
        )


def memory_of(cluster: Cluster, says: Sequence[NodeSays]) -> tuple[int, str]:
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
