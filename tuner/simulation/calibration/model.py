"""The virtual cluster that follows from what was measured."""

import time
from pathlib import Path

from hpl.peak.cpuinfo import ROOT
from runners.toml_file import GIB
from runners.virtual.cluster import VirtualCluster, VirtualNodes

from ...machine.calibrator import between_nodes, pooled, this_machine
from ...machine.inventory import Inventory
from .measure import Measurements

CACHE_KIB = 512.0
"""Second-level cache of a core where the kernel does not tell."""


def calibrated_cluster(inventory: Inventory, measured: Measurements, name: str) -> VirtualCluster:
    """Make a virtual cluster of what was measured: this machine as one node, or the nodes of a real cluster."""
    host, rpeak, real = inventory.host, inventory.rpeak, inventory.nodes
    per_cycle = rpeak.flop_per_cycle or 1
    nodes = VirtualNodes(
        count=inventory.node_count,
        cores=real.cores if real else host.physical_cores,
        clock_ghz=rpeak.gflops / (rpeak.cores * per_cycle),
        flops_per_cycle=per_cycle,
        memory_gib=(real.memory_bytes if real else host.memory_available_bytes) / GIB,
        price_usd=(real.cluster.node.price_usd if real else None) or 0.0,
        power_w=(real.cluster.node.power_w if real else None) or 0.0,
    )
    described = f"{inventory.node_count} nodes" if real else host.cpu_model
    today = time.strftime("%Y-%m-%d")
    description = f"{described}, calibrated on {today}"
    pools = {blas: pooled(runs) for blas, runs in measured.figures.items()}
    cluster = this_machine(name, nodes, cache_kib(), pools, description)
    cluster = cluster.model_copy(update={"basis": f"measured on {name} by `hpltune calibrate` on {today}"})
    return between_nodes(cluster, measured.shared) if inventory.node_count > 1 else cluster


def cache_kib(root: Path = ROOT) -> float:
    """Second-level cache of the first core in KiB, as the kernel tells."""
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if (index / "level").read_text(encoding="ascii").strip() == "2":
                return float((index / "size").read_text(encoding="ascii").strip().removesuffix("K"))
        except (OSError, ValueError):
            continue
    return CACHE_KIB
