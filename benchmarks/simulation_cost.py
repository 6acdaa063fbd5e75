"""What a simulation costs on one core: CPU time, memory, and what sampling changes.

python benchmarks/simulation_cost.py            # about four minutes
python benchmarks/simulation_cost.py --whole    # also every message of the larger ones: about ten minutes
"""

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hpl.params import Scalar
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.plan import virtual_plan
from tuner.simulation.simulator import Simulator
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

CASES: tuple[tuple[str, dict[str, Scalar]], ...] = (
    ("8 ranks, 1x8", {"N": 12300, "NB": 180, "grid": "1x8"}),
    ("8 ranks, 2x4", {"N": 12300, "NB": 180, "grid": "2x4"}),
    ("64 ranks, 8x8", {"N": 35000, "NB": 128, "grid": "8x8"}),
    ("256 ranks, 16x16", {"N": 20000, "NB": 128, "grid": "16x16"}),
    ("1,024 ranks, 32x32", {"N": 20000, "NB": 128, "grid": "32x32"}),
    ("64 ranks, look-ahead", {"N": 10000, "NB": 128, "grid": "8x8", "DEPTH": 1}),
    ("8 ranks, N ten times", {"N": 123000, "NB": 1800, "grid": "2x4"}),
)


def grown(cluster: VirtualCluster, count: int) -> VirtualCluster:
    node = cluster.nodes[0].model_copy(update={"count": count, "memory_gib": 10_000})
    return cluster.model_copy(update={"nodes": (node,)})


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="also simulate every message of the larger cases")
    asked = parser.parse_args(arguments)
    kronos = load_cluster("kronos")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'case':24} {'CPU s':>8} {'MiB':>6} {'GFLOPS':>10}")
    for name, params in CASES:
        ranks = int(name.split()[0].replace(",", ""))
        for every in (False, True) if asked.whole and ranks > 16 else (None,):
            cpu_s, mib, gflops = _cost(grown(kronos, ranks), params, ranks, every=every)
            print(f"{name + (', all' if every else ''):24} {cpu_s:8.2f} {mib:6.0f} {gflops:10.4g}", flush=True)
    return 0


def _cost(
    cluster: VirtualCluster, params: dict[str, Scalar], ranks: int, *, every: bool | None
) -> tuple[float, float, float]:
    """CPU seconds and resident MiB of one simulation in a process of its own, and what it says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        point = {"blas": "atlas", "layout": f"{ranks}x1", "BCAST": "1rg", "DEPTH": 0, "net.rx_usecs": 0, **params}
        site = SimulatedCluster.open(cluster, UserDirs.of_user(), None, None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        simulator = Simulator(site, 1, every, memory_bytes=2**36)
        with tempfile.TemporaryDirectory() as folder:
            measured = simulator.run(virtual_plan(point, cluster), Path(folder) / "run", 3600.0, StopRequest())
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        rate = measured.verdict.results[0].gflops if measured.verdict.results else float("nan")
        os.write(write, f"{cpu_s} {used.ru_maxrss / 1024} {rate}".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as told:
        figures = told.read().split()
    if not figures:
        sys.exit("the simulation failed: its message is above")
    cpu_s, mib, rate = map(float, figures)
    return cpu_s, mib, rate


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
