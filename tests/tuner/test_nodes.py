"""Whether nodes fit together, and what is left of a cluster that lost some."""

from dataclasses import replace
from pathlib import Path

import pytest

from hpl.rpeak import Rpeak
from hpl.search import SearchPaths
from hpl.toolchain import Mpi
from runners.cluster import Cluster
from runners.host_facts import host_facts
from runners.node_facts import NodeSays
from tuner.errors import TunerError
from tuner.nodes import SEEN, faults, on_nodes, part, without
from tuner.real_cluster import RealCluster, check_parallel
from tuner.site import Nodes, Site, survey

MPI = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")
CLUSTER = Cluster(name="lab", backend="ssh", hosts=("n1", "n2", "n3", "n4"))
N1 = NodeSays("n1", "n1", "x86_64", "EPYC", 8, 2**34, ("eth0",), f"{SEEN}-1", "mpirun (Open MPI) 4.1.4")
N2 = replace(N1, node="n2", hostname="n2")


def site() -> Site:
    peak = Rpeak(100.0, 8, 3.0, 16, "", ())
    here = Site(host_facts(peak.cores), peak, (MPI,), (), {})
    nodes = Nodes(CLUSTER.hosts, 4, 2, 2**30, CLUSTER)
    return on_nodes(here, nodes, peak)


def test_ranks_are_laid_out_over_the_cores_that_the_peak_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.site.detect", lambda: Rpeak(100.0, 517, 3.0, 16, "", ()))
    monkeypatch.setattr("tuner.site.find_mpis", lambda *_, **__: (MPI,))
    search, mine = SearchPaths(None, tmp_path), tmp_path / "xhpl"
    found = survey(search, extra_blas={}, only=(), xhpl=mine, rpeak_gflops=None, on_probe=None)
    assert found.machine(all_blas=True, N=None).cores == found.rpeak.cores == 517


def test_nodes_that_are_alike_have_no_fault() -> None:
    assert not list(faults(CLUSTER, [N1, N2], MPI, Path("/shared")))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"architecture": "aarch64"}, "node n2 is aarch64, but n1 is x86_64: no xhpl runs on both"),
        ({"mpi": "mpirun (Open MPI) 5.0.3"}, "node n2 has another MPI (mpirun (Open MPI) 5.0.3) than this host"),
        ({"mpi": ""}, "node n2 has no /usr/bin/mpirun: install the same MPI on all nodes"),
        ({"token": ""}, "node n2 does not see /shared"),
        ({"hostname": "n1"}, "nodes n1 and n2 are the same machine (n1)"),
    ],
)
def test_a_node_that_does_not_fit_is_named(changed: dict[str, str], words: str) -> None:
    found = list(faults(CLUSTER, [N1, replace(N2, **changed)], MPI, Path("/shared")))  # type: ignore[arg-type]
    assert len(found) == 1
    assert words in found[0]


def test_a_cluster_is_its_nodes_together() -> None:
    whole = site()
    assert (whole.host.physical_cores, whole.free_bytes()) == (8, 4 * 2**30)
    assert whole.machine(all_blas=True, N=None).nodes == 4
    assert whole.facts()["node_names"] == ["n1", "n2", "n3", "n4"]


def test_parts_of_a_cluster_share_no_node_and_leave_out_what_is_over() -> None:
    parts = [part(site(), number, 3) for number in range(3)]
    assert [one.node_names for one in parts] == [("n1",), ("n2",), ("n3",)]
    assert [one.rpeak.gflops for one in parts] == [25.0] * 3


def test_what_is_left_of_a_cluster_is_smaller_in_all_respects() -> None:
    left = without(site(), ("n2",))
    assert left.node_names == ("n1", "n3", "n4")
    assert (left.host.physical_cores, left.rpeak.gflops) == (6, 75.0)
    with pytest.raises(TunerError, match="go on with `hpltune tune --resume`"):
        without(site(), CLUSTER.hosts)


def test_trials_at_a_time_need_nodes_of_their_own() -> None:
    with pytest.raises(TunerError, match="would disturb one another"):
        check_parallel(2, None)
    with pytest.raises(TunerError, match="lab has only 4 nodes"):
        check_parallel(5, RealCluster(CLUSTER))
