"""What ranks are laid out by on nodes of a cluster: sockets, NUMA nodes, L3 caches and GPUs, as the nodes tell them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from hpl.blas.nvblas import NAME as NVBLAS
from hpl.blas.nvblas import VENDOR
from hpl.programs.gpus import peak_gflops
from hpl.programs.terms import Gpu
from hpl.rpeak import Rpeak
from results.node_check import ranges
from runners.hosts.cluster import Cluster
from runners.hosts.host_facts import HostFacts
from runners.hosts.node_facts import NodeSays

from ..errors import TunerError
from ..words import counted
from .inventory import Inventory
from .node_checks import said_together


def shaped(host: HostFacts, says: Sequence[NodeSays]) -> HostFacts:
    """The facts of a host with the sockets, NUMA nodes and L3 caches of the nodes, the fewest where they differ."""
    least = {name: min(getattr(node.shape, name) for node in says) for name in ("sockets", "numa_nodes", "l3_caches")}
    return replace(host, **{name: count for name, count in least.items() if count})


def on_gpus(inventory: Inventory) -> tuple[str, str]:
    """What computes on GPUs, and their vendor; "" where cores compute."""
    if inventory.program.gpus_of:
        return inventory.program.name, inventory.program.gpus_of
    return (NVBLAS, VENDOR) if any(entry.family == NVBLAS for entry in inventory.blas) else ("", "")


def gpus_of(says: Sequence[NodeSays], name: str, vendor: str) -> dict[str, tuple[Gpu, ...]]:
    """The GPUs of each node on which something computes.

    Raises:
        TunerError: a node has none.
    """
    found = {node.node: tuple(Gpu(**asdict(gpu)) for gpu in node.shape.gpus if gpu.vendor == vendor) for node in says}
    lacking = {node: f"node {node}: {name} computes on GPUs of {vendor}, and it shows none" for node in found}
    lacking = {node: sentence for node, sentence in lacking.items() if not found[node]}
    if lacking:
        raise TunerError("; ".join(said_together(lacking)))
    return found


def common_gpus(found: Mapping[str, tuple[Gpu, ...]]) -> tuple[Gpu, ...]:
    """What each node has of GPUs: the fewest, the least memory, and what is near them where that is the same."""
    fewest = min(found.values(), key=len)
    least = min(gpu.memory_bytes for own in found.values() for gpu in own)
    near = {tuple((gpu.numa_node, gpu.cpus) for gpu in own[: len(fewest)]) for own in found.values()}
    gpus = tuple(replace(gpu, memory_bytes=least) for gpu in fewest)
    return gpus if len(near) == 1 else tuple(replace(gpu, numa_node=None, cpus="") for gpu in gpus)


def unlike_nodes(says: Sequence[NodeSays], vendor: str) -> Iterator[str]:
    """Yield how nodes differ in what ranks are laid out by, a sentence each."""
    gpus = {
        node.node: ", ".join(
            f"{count} x {model}"
            for model, count in Counter(gpu.model for gpu in node.shape.gpus if gpu.vendor == vendor).items()
        )
        for node in says
    }
    if vendor and len(set(gpus.values())) > 1:
        fewest = min(sum(gpu.vendor == vendor for gpu in node.shape.gpus) for node in says)
        yield f"nodes have different GPUs ({_told(gpus)}): {fewest} a node are used, and the least memory decides N"
    shapes = {
        node.node: f"{counted(own.sockets, 'socket')}, {counted(own.numa_nodes, 'NUMA node')}, "
        f"{counted(own.l3_caches, 'L3 cache')}"
        for node in says
        if (own := node.shape).sockets
    }
    if len(set(shapes.values())) > 1:
        yield f"nodes differ ({_told(shapes)}): ranks are laid out for the fewest of each"


def _told(texts: Mapping[str, str]) -> str:
    """Name the nodes that have each text: "n1: 2 x H100; n[2-4]: 1 x H100"."""
    by_text: dict[str, list[str]] = {}
    for node, text in texts.items():
        by_text.setdefault(text or "none", []).append(node)
    return "; ".join(f"{ranges(nodes)}: {text}" for text, nodes in by_text.items())


def gpus_rpeak(
    cluster: Cluster,
    found: Mapping[str, tuple[Gpu, ...]],
    inventory: Inventory,
    cores: int,
) -> Rpeak:
    """The peak of the GPUs that are used on all nodes, by data sheets, unless the cluster's file or the user gives it.

    Raises:
        hpl.programs.gpus.NoGpuError: nobody knows the peak of one.
    """
    count, each = len(found), len(inventory.gpus)
    if cluster.node.rpeak_gflops:
        gflops = count * cluster.node.rpeak_gflops
        sentence = f"Rpeak = {counted(count, 'node')} x {cluster.node.rpeak_gflops:g} GFLOPS, from the cluster file."
    elif not inventory.program.workload.has_peak:
        gflops, sentence = inventory.rpeak.gflops, inventory.rpeak.reasoning[-1]
    else:
        gflops = sum(peak_gflops(own[:each])[0] for own in found.values())
        models = ", ".join(dict.fromkeys(gpu.model for own in found.values() for gpu in own[:each]))
        sentence = f"Rpeak = {counted(count, 'node')} x {each} GPUs ({models}) = {gflops:g} GFLOPS, by data sheets."
    return replace(inventory.rpeak, gflops=gflops, cores=count * cores, reasoning=(sentence,))
