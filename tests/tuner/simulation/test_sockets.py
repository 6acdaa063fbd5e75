"""Simulated HPL where the kernel sends for its ranks, as over TCP."""

from itertools import product
from pathlib import Path

import pytest

from runners.virtual.cluster import Core, Network, VirtualBlas, VirtualCluster, VirtualNodes
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]
LINE = Network(latency_us=60, gbit_s=0.1, cpu_us=10)
CLUSTER = VirtualCluster(
    name="four boxes",
    nodes=(VirtualNodes(count=4, cores=1, clock_ghz=2, flops_per_cycle=8, memory_gib=4),),
    core=Core(memory_gb_s=10, cache_kib=512, cache_gb_s=40, strided_ns=2, level2_gflops=4),
    blas={"openblas": VirtualBlas(dgemm_gflops=14)},
    networks={"line": LINE},
)


@pytest.fixture
def site(home: Path) -> SimulatedCluster:
    assert home
    return SimulatedCluster.open(CLUSTER, UserDirs.of_user(), None, None)


def rates(site: SimulatedCluster, cluster: VirtualCluster, *configurations: dict[str, str | int]) -> list[float]:
    usual: dict[str, str | int] = {"N": 1200, "NB": 64, "grid": "1x4", "layout": "4x1", "blas": "openblas"}
    wishes = [Wish({**usual, "BCAST": "1rg", **configuration}, cluster) for configuration in configurations]
    found = simulate(site, wishes, jobs=2, limit_s=60, stop=StopRequest())
    assert all(one.gflops for one in found), {one.reason for one in found}
    return [one.gflops or 0.0 for one in found]


def with_sockets(socket_kib: float, queue_kib: float) -> VirtualCluster:
    line = LINE.model_copy(update={"socket_kib": socket_kib, "queue_kib": queue_kib})
    return CLUSTER.model_copy(update={"networks": {"line": line}})


def test_a_ring_is_faster_where_the_kernel_sends_on_and_less_so_where_answers_wait(site: SimulatedCluster) -> None:
    (held,) = rates(site, CLUSTER, {})
    (free,) = rates(site, with_sockets(1024, 0), {})
    (queued,) = rates(site, with_sockets(1024, 128), {})
    assert held < queued < free
    (small,) = rates(site, with_sockets(64, 0), {})
    assert held < small < free, "a small buffer takes less"


def test_every_broadcast_and_swap_comes_to_its_end(site: SimulatedCluster) -> None:
    broadcasts = ("1rg", "1rM", "2rg", "2rM", "Lng", "LnM")
    configurations: list[dict[str, str | int]] = [
        {"BCAST": bcast, "grid": grid, "DEPTH": depth, "SWAP": swap, "N": 800}
        for bcast, grid, depth, swap in product(broadcasts, ("1x4", "2x2", "4x1"), (0, 1), ("bin", "long"))
        if grid != "1x4" or swap == "bin"
    ]
    cluster = with_sockets(100, 50)
    first = rates(site, cluster, *configurations)
    assert rates(site, cluster, *configurations[::7]) == first[::7], "the same every time"


def test_nothing_changes_where_a_node_has_several_ranks(site: SimulatedCluster) -> None:
    def packed(cluster: VirtualCluster) -> VirtualCluster:
        pair = cluster.nodes[0].model_copy(update={"count": 2, "cores": 2})
        return cluster.model_copy(update={"nodes": (pair,)})

    assert rates(site, packed(CLUSTER), {}) == rates(site, packed(with_sockets(1024, 128)), {})
