"""Which nodes a plan starts ranks on, and in which order."""

from pathlib import Path

import pytest

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.build.toolchain import Mpi
from hpl.params import Scalar
from hpl.rpeak import Rpeak
from runners.batch.slurm.system import Slurm
from runners.hosts.cluster import Cluster
from runners.hosts.host_facts import host_facts
from tuner.machine.cluster_nodes import on_nodes
from tuner.machine.inventory import Inventory, Nodes
from tuner.trial.evaluate import memory_shortage
from tuner.trial.plan import PlanError, TrialPlan, merge_plans, plan

HOSTS = ("n1", "n2", "n3", "n4")
SPEEDS = {"n1": 80.0, "n2": 50.0, "n3": 81.0, "n4": 80.5}
LAB = Cluster(name="lab", backend="ssh", hosts=HOSTS, speeds=SPEEDS, switches={"a": ("n1", "n3"), "b": ("n2", "n4")})
PLAIN = Cluster(name="lab", backend="ssh", hosts=HOSTS)
POINT: dict[str, Scalar] = {"N": 1000, "NB": 64, "blas": "openblas"}


def machine(cluster: Cluster = LAB) -> Inventory:
    mpi = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")
    library = BlasLibrary("openblas", "openblas", "1", Path("/lib/openblas.so"), Threading.SERIAL, "", "/lib")
    peak = Rpeak(100.0, 8, 3.0, 16, "", ())
    here = Inventory(host_facts(8), peak, (mpi,), (Blas("openblas", "openblas", (library,)),), {})
    return on_nodes(here, Nodes(cluster.hosts, 4, 2, 2**30, cluster), peak)


def planned(grid: str, where: Inventory | None = None, **more: Scalar) -> TrialPlan:
    P, _, Q = grid.partition("x")
    return plan({**POINT, "grid": grid, "layout": f"{int(P) * int(Q)}x1", **more}, where or machine())


def test_a_point_that_says_nothing_of_nodes_leaves_them_to_the_site() -> None:
    assert planned("2x4").launch.nodes == ()
    assert planned("2x4", rank_order="listed").launch.nodes == HOSTS


def test_ranks_start_on_the_nodes_that_are_left_in_the_order_that_was_asked() -> None:
    assert planned("2x3", nodes_dropped=1).launch.nodes == ("n1", "n3", "n4")
    assert planned("2x2", nodes_dropped=2).launch.nodes == ("n3", "n4")
    assert planned("1x8", rank_order="fastest-first").launch.nodes == ("n1", "n3", "n4", "n2")
    assert planned("2x4", rank_order="slow-share-row").launch.nodes == ("n1", "n3", "n4", "n2")
    assert planned("2x4", rank_order="slow-share-column").launch.nodes == ("n1", "n4", "n3", "n2")
    assert planned("2x4", rank_order="by-switch").launch.nodes == ("n1", "n3", "n2", "n4")
    assert planned("2x4", rank_order="across-switches").launch.nodes == ("n1", "n2", "n3", "n4")


def test_runs_on_other_nodes_never_share_a_launch() -> None:
    here, there = planned("2x4", NB=64), planned("2x4", NB=128, rank_order="fastest-first")
    assert merge_plans([here, there]) is None
    assert merge_plans([here, planned("2x4", NB=128)]) is not None


def test_only_the_memory_of_the_nodes_in_use_is_free() -> None:
    N = 17_000
    assert memory_shortage(planned("2x4", N=N), machine()) is None
    assert "but only 3.0 GiB of memory are free" in str(
        memory_shortage(planned("2x3", N=20_000, nodes_dropped=1), machine())
    )


@pytest.mark.parametrize(
    ("cluster", "more", "said"),
    [
        (PLAIN, {"nodes_dropped": 4}, "nodes_dropped = 4 leaves none of 4 nodes: take at most 3"),
        (PLAIN, {"rank_order": "by-switch"}, r"nobody told the switch of n1, n2, n3, n4: name it in \[switches\]"),
        (PLAIN, {"rank_order": "fastest-first"}, r"nobody told how fast the nodes are: write \[speeds\]"),
        (
            Cluster(name="site", backend="slurm", batch=Slurm(nodes=4)),
            {"nodes_dropped": 1},
            "nodes_dropped = 1: Slurm chooses the nodes of a run",
        ),
    ],
)
def test_nodes_that_nobody_can_name_are_refused(cluster: Cluster, more: dict[str, Scalar], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        planned("2x4", machine(cluster), **more)
