"""Makes up clusters by chance, and for each a space, to try engines on machines that they were not made on.

    python benchmarks/make_clusters.py FOLDER --count 12
    python benchmarks/record_landscape.py simulated FOLDER/made-up-1.toml FOLDER/made-up-1.json \\
        --cluster FOLDER/made-up-1.cluster.toml --small 2400

The same number is the same cluster each time. Nodes, cores, networks and N are drawn so that some are held up by their
messages and some hardly feel them. `--twin` makes twins of the same clusters: with a slow node (`slow`), with a node
that has the ranks of two (`fat`), or with half of the nodes on each of two switches whose uplink all share (`tree`).
"""

import argparse
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from script import as_script

NODES_CORES = (
    (2, 4), (2, 8), (3, 4), (3, 8), (4, 2), (4, 4), (5, 4), (6, 2), (6, 4), (8, 1), (8, 2), (10, 2), (12, 1), (16, 1),
)  # fmt: skip
LATENCY_US = {1.0: (20.0, 90.0), 2.5: (20.0, 60.0), 10.0: (8.0, 40.0), 25.0: (2.0, 20.0), 100.0: (1.5, 8.0)}
"""From least to most, by line rate in Gbit/s."""
OF_LATENCY = 0.45
"""What a core spends on a message may be at most this part of its latency, because both ends spend it."""
NB = ((64, 128, 192, 256), (96, 160, 224), (96, 144, 192, 256), (64, 96, 160, 256))
BCAST = (("1rM", "LnM"), ("1rM", "2rM", "LnM"), ("1rg", "1rM"), ("1rM", "Lng"), ("2rg", "LnM"))
SWAP = (("bin", "long"), ("bin", "long", "mix"))
N = (6_000, 8_000, 10_000, 12_000)
GRIDS = 4
"""The tallest ones, of those whose P is at most twice Q."""

CLUSTER = """# Made up: no such machine was measured.
name = "{name}"
description = "{description}"

{kinds}
[core]
memory_gb_s = {memory_gb_s:.1f}
cache_kib = {cache_kib}
cache_gb_s = {cache_gb_s:.0f}
strided_ns = {strided_ns:.1f}
level2_gflops = {level2_gflops:.2f}

[blas.blis]
dgemm_gflops = {dgemm_gflops:.1f}
dtrsm_fraction = {dtrsm_fraction:.2f}

[networks.net]
latency_us = {latency_us:.1f}
gbit_s = {gbit_s}
packet_us = {packet_us:.2f}
cpu_us = {cpu_us:.1f}
mtu = {mtu}
mtu_most = 9000
throttle_us = {throttle_us:.1f}
switch = {{ {tree}price_usd = 40, power_w = 8 }}

[shared_memory]
latency_us = {near_latency_us:.2f}
gb_s = {near_gb_s:.1f}
"""
KIND = """[[nodes]]
count = {count}
cores = {cores}
clock_ghz = {clock_ghz:.2f}
flops_per_cycle = 16
memory_gib = 64
price_usd = 100
power_w = 50
"""
SPACE = """description = "{description}"

[parameters]
layout = "{ranks}x1"
NB = {NB}
grid = {grid}
blas = "blis"
BCAST = {BCAST}
DEPTH = [0, 1]
N = {N}
SWAP = {SWAP}
NBMIN = 8
binding = "core"
"""
SLOW, FAT, TREE = "slow", "fat", "tree"
LEAST_NODES = {SLOW: 2, FAT: 3, TREE: 4}
"""Of a cluster that can have such a twin."""
SPEED, OVERSUBSCRIPTION = 0.75, 4
"""Of the slow node, and of the uplinks."""


@dataclass(frozen=True)
class MadeUp:
    """A cluster and its space, as the texts of their files."""

    name: str
    cluster: str
    space: str


def made_up(number: int, twin: str = "") -> MadeUp | None:
    """The cluster of a number, or a twin of it; None where it has too few nodes for that."""
    chance = random.Random(f"made up {number}")

    def between(least: float, most: float) -> float:
        return float(least * (most / least) ** chance.random())

    (nodes, cores), gbit_s = chance.choice(NODES_CORES), chance.choice(list(LATENCY_US))
    ranks, latency_us, dgemm_gflops = nodes * cores, between(*LATENCY_US[gbit_s]), between(3, 70)
    if nodes < LEAST_NODES.get(twin, 1):
        return None
    name = f"made-up-{number}" + (f"-{twin}" if twin else "")
    description = f"{nodes} nodes of {cores} x {dgemm_gflops:.0f} GFLOPS on {gbit_s:g} Gbit/s"
    description += f", {twin}" if twin else ""
    clock_ghz = max(1.0, dgemm_gflops * 1.15 / 16)
    tree = f"leaf_nodes = {math.ceil(nodes / 2)}, oversubscription = {OVERSUBSCRIPTION}, " if twin == TREE else ""
    cluster = CLUSTER.format(
        name=name, description=description, kinds=kinds(nodes, cores, clock_ghz, twin), gbit_s=gbit_s,
        latency_us=latency_us, dgemm_gflops=dgemm_gflops, tree=tree, memory_gb_s=between(2, 12),
        cache_kib=chance.choice((256, 512, 1024, 2048)), cache_gb_s=between(20, 80), strided_ns=between(2, 10),
        level2_gflops=dgemm_gflops * between(0.08, 0.35), dtrsm_fraction=between(0.5, 0.9),
        packet_us=between(0.05, 1), cpu_us=min(between(0.5, 10), OF_LATENCY * latency_us),
        mtu=chance.choice((1500, 9000)), throttle_us=chance.choice((0.0, 0.5, 1.0)) * latency_us,
        near_latency_us=between(0.2, 0.8), near_gb_s=between(4, 14),
    )  # fmt: skip
    grids = [f"{rows}x{ranks // rows}" for rows in range(1, ranks + 1) if ranks % rows == 0 and rows**2 <= 2 * ranks]
    space = SPACE.format(
        description=description, ranks=ranks, NB=json.dumps(chance.choice(NB)), grid=json.dumps(grids[-GRIDS:]),
        BCAST=json.dumps(chance.choice(BCAST)), N=chance.choice(N), SWAP=json.dumps(chance.choice(SWAP)),
    )  # fmt: skip
    more = 'PMAP = ["row", "column"]\n' if twin in {FAT, TREE} else ""
    return MadeUp(name, cluster, space + more)


def kinds(nodes: int, cores: int, clock_ghz: float, twin: str) -> str:
    """The nodes of a cluster as tables of its file, the slow or the fat one last."""
    usual = KIND.format(count=nodes - {SLOW: 1, FAT: 2}.get(twin, 0), cores=cores, clock_ghz=clock_ghz)
    if twin == SLOW:
        return f"{usual}\n{KIND.format(count=1, cores=cores, clock_ghz=clock_ghz)}speed = {SPEED}\n"
    if twin == FAT:
        return f"{usual}\n{KIND.format(count=1, cores=2 * cores, clock_ghz=clock_ghz)}"
    return usual


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--twin", choices=tuple(LEAST_NODES), default="")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    found = (made_up(number, asked.twin) for number in range(1, asked.count + 1))
    for one in filter(None, found):
        (asked.folder / f"{one.name}.cluster.toml").write_text(one.cluster, encoding="utf-8")
        (asked.folder / f"{one.name}.toml").write_text(one.space, encoding="utf-8")
        print(one.name)
    return 0


if __name__ == "__main__":
    as_script(main)
