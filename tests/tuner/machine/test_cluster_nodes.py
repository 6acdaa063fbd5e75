"""Whether nodes fit together, and what is left of a cluster that lost some."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from vendor_programs import nvidia_hpl

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.build.toolchain import Mpi
from hpl.programs.gpus import NoGpuError
from hpl.programs.registry import program_at
from hpl.rpeak import Rpeak
from hpl.search_paths import SearchPaths
from results.report.text_forms import to_markdown
from runners.batch.base import BatchFacts, BatchNode, BatchQueue
from runners.batch.dialect import Pbs
from runners.batch.slurm.system import Slurm
from runners.hosts.cluster import Cluster
from runners.hosts.host_facts import host_facts
from runners.hosts.node_facts import HostShape, Identity, NodeGpu, NodeSays, parse_says
from runners.toml_file import GIB
from tuner.commands.hosts.doctor_cluster import ClusterDoctorResult, HostLibraries, doctor_cluster
from tuner.errors import TunerError
from tuner.machine import cluster_nodes
from tuner.machine.batch_nodes import allocation_faults
from tuner.machine.cluster_nodes import AskNodes, on_nodes, part_of, survey_nodes, without_nodes
from tuner.machine.interfaces import Interfaces, interfaces_between, through_batch_system, ucx_devices
from tuner.machine.inventory import Inventory, Nodes
from tuner.machine.kernels import ClusterKernels
from tuner.machine.mpi_start import Start
from tuner.machine.node_checks import SEEN, node_faults, said_together
from tuner.machine.real_cluster import RealCluster, check_parallel
from tuner.machine.survey import Instruments, SurveyWish, survey
from tuner.options import TuneOptions
from tuner.study.sizing.size import load_space
from tuner.trial.plan import require_settings
from tuner.user_dirs import UserDirs

MPI = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")
CLUSTER = Cluster(name="lab", backend="ssh", hosts=("n1", "n2", "n3", "n4"))
SHARED = (Path("/shared"), Path("/builds"))
SEES = {f"{folder}/{SEEN}-1": "1-0" for folder in SHARED}
N1 = NodeSays("n1", "n1", "x86_64", "EPYC", 8, 2**34, ("eth0",), "mpirun (Open MPI) 4.1.4", SEES)
N2 = replace(N1, node="n2", hostname="n2")


def machine() -> Inventory:
    peak = Rpeak(100.0, 8, 3.0, 16, "", ())
    here = Inventory(host_facts(peak.cores), peak, (MPI,), (), {})
    nodes = Nodes(CLUSTER.hosts, 4, 2, 2**30, CLUSTER)
    return on_nodes(here, nodes, peak)


def test_ranks_are_laid_out_over_the_cores_that_the_peak_is_of(tmp_path: Path) -> None:
    large = Instruments(rpeak=lambda: Rpeak(100.0, 517, 3.0, 16, "", ()), mpis=lambda *_: (MPI,))
    found = survey(SearchPaths(None, tmp_path), SurveyWish(program=program_at(tmp_path / "xhpl")), None, large)
    assert found.machine(all_blas=True, N=None).cores == found.rpeak.cores == 517


def test_a_node_that_lacks_a_folder_of_modules_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.machine.node_checks.module_folders", [tmp_path])
    has_it = replace(N1, files={**SEES, str(tmp_path): "folder"})
    (sentence,) = node_faults(CLUSTER, [has_it, N2], MPI, SHARED)
    how = "install it there, at the same path: modules of the cluster file name it"
    assert sentence == f"node n2 has no {tmp_path}: {how}"
    assert not list(node_faults(CLUSTER.model_copy(update={"stage": "copy"}), [has_it, N2], MPI, SHARED))


def test_nodes_that_are_alike_have_no_fault() -> None:
    assert not list(node_faults(CLUSTER, [N1, N2], MPI, SHARED))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"architecture": "aarch64"}, "node n2 is aarch64, but n1 is x86_64: no xhpl runs on both"),
        ({"mpi": "mpirun (Open MPI) 5.0.3"}, "node n2 has another MPI (mpirun (Open MPI) 5.0.3) than this host"),
        ({"mpi": ""}, "node n2 has no /usr/bin/mpirun: install the same MPI on all nodes"),
        ({"files": {f"/builds/{SEEN}-1": "1-0"}}, "node n2 does not see /shared: put it on a file system"),
        ({"files": {f"/shared/{SEEN}-1": "1-0"}}, "node n2 does not see /builds: put it on a file system"),
        ({"hostname": "n1"}, "nodes n1 and n2 call themselves by one name (n1), by which MPI tells nodes apart"),
    ],
)
def test_a_node_that_does_not_fit_is_named(changed: dict[str, str], words: str) -> None:
    found = list(node_faults(CLUSTER, [N1, replace(N2, **changed)], MPI, SHARED))  # type: ignore[arg-type]
    assert len(found) == 1
    assert words in found[0]


def running(node: NodeSays, boot: str, image: str = "") -> NodeSays:
    """A node that tells which start of which machine it is."""
    return replace(node, identity=Identity(node.hostname, boot, "net:[1]", image))


def test_what_is_the_same_of_many_nodes_is_said_once() -> None:
    full = {f"n{number}": f"node n{number}: the disk is full" for number in range(1, 601)}
    assert said_together({**full, "n7": "node n7: it does not answer"}) == [
        "nodes n[1-6], n[8-600]: the disk is full",
        "node n7: it does not answer",
    ]


def test_two_names_of_one_machine_are_named_and_two_machines_of_one_name_are_something_else() -> None:
    twin = replace(N2, hostname="n1")
    (same,) = node_faults(CLUSTER, [running(N1, "boot-1"), running(twin, "boot-1")], MPI, SHARED)
    assert same == "nodes n1 and n2 are the same machine (n1): name it once in hosts"
    (alike,) = node_faults(CLUSTER, [running(N1, "boot-1"), running(twin, "boot-2")], MPI, SHARED)
    assert "call themselves by one name (n1)" in alike
    assert not list(node_faults(CLUSTER, [running(N1, "boot-1"), running(N2, "boot-1")], MPI, SHARED)), "containers"


def test_copies_of_one_image_are_told_as_such(tmp_path: Path) -> None:
    one, two = alike()
    cloned = [running(one, "boot-1", "0a"), running(two, "boot-2", "0a")]
    _, notices = surveyed(tmp_path, heard(*cloned))
    assert "Caution: nodes n1, n2 have one /etc/machine-id, as copies of one installed system have" in notices
    _, notices = surveyed(tmp_path, heard(running(one, "boot-1", "0a"), running(two, "boot-2", "0b")))
    assert "machine-id" not in notices
    _, notices = surveyed(tmp_path, heard(running(one, "boot-1", "0a"), running(two, "boot-1", "0a")))
    assert "machine-id" not in notices, "containers of one machine share its id"


def test_more_cores_than_a_node_has_are_refused_and_not_only_a_caution() -> None:
    greedy = Cluster(**{**dict(CLUSTER), "node": {"cores": 64}})
    (sentence,) = node_faults(greedy, [N1, replace(N2, cores=64)], MPI, SHARED)
    assert sentence == "node n1 has 8 cores, but [node] of the cluster file says cores = 64: lower cores"
    assert not list(node_faults(Cluster(**{**dict(CLUSTER), "node": {"cores": 4}}), [N1, N2], MPI, SHARED))


def library(name: str) -> Blas:
    return Blas(name, name, (BlasLibrary(name, name, "1", Path(f"/lib/{name}.so"), Threading.SERIAL, "", "/lib"),))


def heard(*nodes: NodeSays) -> AskNodes:
    """These nodes answer, and see what is shared."""

    def ask(_reach: object, _names: object, files: Sequence[Path], _mpirun: object) -> Mapping[str, NodeSays]:
        tokens = {str(file): "1-0" for file in files if file.name.startswith(SEEN)}
        return {node.node: replace(node, files={**node.files, **tokens}) for node in nodes}

    return ask


def alike(**changed: object) -> tuple[NodeSays, NodeSays]:
    """Two nodes with this host's CPU and two libraries, the second one changed."""
    files = {"/lib/openblas.so": "11-1", "/lib/blis.so": "22-2"}
    one, two = (replace(node, model=host_facts(1).cpu_model, files=files) for node in (N1, N2))
    return one, replace(two, **changed)  # type: ignore[arg-type]


def surveyed(tmp_path: Path, ask: AskNodes, cluster: Cluster = CLUSTER, **changed: object) -> tuple[Inventory, str]:
    peak = Rpeak(100.0, 8, 3.0, 16, "", ())
    here = Inventory(host_facts(peak.cores), peak, (MPI,), (library("openblas"), library("blis")), {}, **changed)  # type: ignore[arg-type]
    found, notices = survey_nodes(cluster, here, (tmp_path / "runs", tmp_path / "builds"), ask=ask)
    return found, " ".join(notice.sentence for notice in notices)


def test_a_blas_that_a_node_lacks_is_left_out_and_named(tmp_path: Path) -> None:
    found, notices = surveyed(tmp_path, heard(*alike(files={"/lib/openblas.so": "11-1"})))
    assert [entry.name for entry in found.blas] == ["openblas"]
    assert "Left out: node n2 has no /lib/blis.so: install it there, at the same path." in notices
    with pytest.raises(TunerError, match=r"node n2 has no /lib/openblas.so: .*: no BLAS library is on all nodes"):
        surveyed(tmp_path, heard(*alike(files={})))


def test_the_users_own_program_is_looked_for_on_all_nodes(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="node n1, n2 has no /opt/xhpl: install it there, at the same path"):
        surveyed(tmp_path, heard(*alike()), program=program_at(Path("/opt/xhpl")))


H100 = NodeGpu("NVIDIA", "NVIDIA H100 80GB HBM3", 80 * 2**30, 0, "0-15")


def with_gpus(tmp_path: Path, *gpus: tuple[NodeGpu, ...], cluster: Cluster = CLUSTER) -> tuple[Inventory, str]:
    """A program of GPUs on nodes that tell of these, started from a host that has none."""
    program = program_at(nvidia_hpl(tmp_path))
    files = {**alike()[0].files, **{str(file): "1-0" for file in program.files}}
    shapes = [HostShape(2, 8, 24, own) for own in gpus]
    says = [replace(node, files=files, shape=shape) for node, shape in zip(alike(), shapes, strict=True)]
    return surveyed(tmp_path, heard(*says), cluster, program=program)


def test_ranks_memory_and_peak_follow_from_the_gpus_of_the_nodes(tmp_path: Path) -> None:
    found, notices = with_gpus(tmp_path, (H100, H100), (H100, H100))
    machine = found.machine(all_blas=True, N=None)
    assert machine.terms.layouts(machine.node, machine.nodes) == [(4, 4)]
    assert (machine.memory_bytes, found.rpeak.gflops) == (4 * 80 * 2**30, 4 * 67e3)
    assert (found.host.sockets, found.host.numa_nodes, found.host.l3_caches) == (2, 8, 24)
    assert found.gpus[0].cpus == "0-15"
    assert "different GPUs" not in notices


def test_nodes_with_other_gpus_are_told_in_one_sentence(tmp_path: Path) -> None:
    small = replace(H100, model="NVIDIA A100-SXM4-40GB", memory_bytes=40 * 2**30, numa_node=1)
    found, notices = with_gpus(tmp_path, (H100, H100), (small,))
    assert (
        "nodes have different GPUs (n1: 2 x NVIDIA H100 80GB HBM3; n2: 1 x NVIDIA A100-SXM4-40GB): 1 a node are used, "
        "and the least memory decides N."
    ) in notices
    assert (found.free_bytes(), found.rpeak.gflops) == (2 * 40 * 2**30, 67e3 + 19.5e3)
    assert found.gpus[0].numa_node is None, "what is near one is not near the other"
    with pytest.raises(TunerError, match="node n2: nvidia computes on GPUs of NVIDIA, and it shows none"):
        with_gpus(tmp_path, (H100,), ())


def test_the_peak_of_gpus_that_nobody_knows_is_given(tmp_path: Path) -> None:
    other = replace(H100, model="GeForce")
    with pytest.raises(NoGpuError, match="of GeForce in double precision is not known: give that of all with ⟦rpeak⟧"):
        with_gpus(tmp_path, (other,), (other,))
    found, _ = with_gpus(tmp_path, (other,), (other,), cluster=CLUSTER.with_peak(400.0))
    assert found.rpeak.gflops == 200.0, "two of four nodes"


def test_nodes_of_other_shapes_are_told(tmp_path: Path) -> None:
    one, two = alike()
    ask = heard(replace(one, shape=HostShape(2, 8, 24)), replace(two, shape=HostShape(1, 1, 8)))
    found, notices = surveyed(tmp_path, ask)
    told = "nodes differ (n1: 2 sockets, 8 NUMA nodes, 24 L3 caches; n2: 1 socket, 1 NUMA node, 8 L3 caches): ranks are"
    assert told in notices
    assert (found.host.sockets, found.host.l3_caches) == (1, 8)


def test_nodes_that_differ_are_told(tmp_path: Path) -> None:
    ask = heard(*alike(model="Xeon", files={"/lib/openblas.so": "11-1", "/lib/blis.so": "23-2"}))
    _, notices = surveyed(tmp_path, ask, Cluster(**{**dict(CLUSTER), "node": {"rpeak_gflops": 10}}))
    assert "Caution: node n2 has another CPU (Xeon) than n1" in notices
    assert "node n2 has another /lib/blis.so than n1: install the same version on all nodes." in notices


@pytest.mark.parametrize(
    ("asked_gib", "free_gib", "gib", "words"),
    [
        (None, 3, 3, ""),
        (8, 3, 3, "Caution: node n2 has only 3.0 GiB free, less than memory_gib = 8 of the cluster file"),
        (2, 3, 2, ""),
        (2, 0, 2, ""),
    ],
)
def test_no_more_memory_is_taken_of_each_node_than_the_scarcest_has_free(
    tmp_path: Path, asked_gib: float | None, free_gib: int, gib: int, words: str
) -> None:
    ask = heard(*alike(memory_bytes=free_gib * GIB))
    found, notices = surveyed(tmp_path, ask, Cluster(**{**dict(CLUSTER), "node": {"memory_gib": asked_gib}}))
    assert found.free_bytes() == 2 * gib * GIB
    assert found.nodes is not None
    assert found.nodes.scarcest == ("n2" if gib == free_gib else "")
    assert (words in notices) if words else ("memory_gib" not in notices)


STARTED = Start("", 0.4)


def examined(tmp_path: Path, ask: AskNodes, node: str = "", start: Start = STARTED) -> tuple[ClusterDoctorResult, str]:
    """What the doctor says of two nodes, also in words."""
    libraries = HostLibraries(MPI, (library("openblas"), library("blis")))
    file = tmp_path / "lab.toml"
    file.write_text(f'name = "lab"\nbackend = "ssh"\nhosts = ["n1", "n2"]\n[node]\n{node}')
    dirs = UserDirs(tmp_path / "cache", tmp_path / "data")
    untimed = ClusterKernels(())
    result = doctor_cluster(
        file, dirs, libraries=libraries, ask=ask, time_kernels=lambda *_: untimed, start=lambda *_: start
    )
    return result, to_markdown(result.report())


def test_the_doctor_names_what_a_node_lacks_and_what_becomes_of_it(tmp_path: Path) -> None:
    result, said = examined(tmp_path, heard(*alike(files={"/lib/openblas.so": "11-1"})))
    assert "Advice: node n2 has no /lib/blis.so: install it there, at the same path; a study leaves it out." in said
    assert not result.missing
    result, said = examined(tmp_path, heard(*alike(files={})))
    assert "Missing: no BLAS library is on all nodes" in said
    assert result.missing


def test_the_doctor_sees_another_cpu_and_wants_a_peak_that_it_cannot_tell(tmp_path: Path) -> None:
    ask = heard(*alike(model="Xeon"))
    result, said = examined(tmp_path, ask)
    assert "Missing: node n2 has another CPU (Xeon) than this host" in said
    assert "say what a node can do with rpeak_gflops under [node]" in said
    assert result.missing
    result, said = examined(tmp_path, ask, "rpeak_gflops = 50\n")
    assert "Advice: node n2 has another CPU (Xeon) than n1" in said
    assert not result.missing


def test_the_doctor_starts_ranks_on_all_nodes_and_says_what_prevents_it(tmp_path: Path) -> None:
    result, said = examined(tmp_path, heard(*alike()))
    assert "openmpi 4.1.4 starts a rank on each of 2 nodes in 0.4 s." in said
    assert not result.missing
    result, said = examined(tmp_path, heard(*alike()), start=Start("node n2 cannot reach this host", 3.0))
    assert result.missing == ("openmpi 4.1.4 does not start a rank on each of 2 nodes: node n2 cannot reach this host",)
    assert "Everything that" not in said
    result, said = examined(tmp_path, heard(*alike(mpi="")), start=Start("nothing is started then", 0.0))
    assert "nothing is started then" not in said


def test_a_cluster_is_its_nodes_together() -> None:
    whole = machine()
    assert (whole.host.physical_cores, whole.free_bytes()) == (8, 4 * 2**30)
    assert whole.machine(all_blas=True, N=None).nodes == 4
    assert whole.facts()["node_names"] == ["n1", "n2", "n3", "n4"]


def test_parts_of_a_cluster_share_no_node_and_leave_out_what_is_over() -> None:
    parts = [part_of(machine(), number, 3) for number in range(3)]
    assert [one.node_names for one in parts] == [("n1",), ("n2",), ("n3",)]
    assert [one.rpeak.gflops for one in parts] == [25.0] * 3


def test_what_is_left_of_a_cluster_is_smaller_in_all_respects() -> None:
    left = without_nodes(machine(), ("n2",))
    assert left.node_names == ("n1", "n3", "n4")
    assert (left.host.physical_cores, left.rpeak.gflops) == (6, 75.0)
    with pytest.raises(TunerError, match="go on with `hpltune tune ⟦resume⟧`"):
        without_nodes(machine(), CLUSTER.hosts)


def test_what_is_left_has_configurations_whatever_n_the_pilots_will_tell() -> None:
    space = load_space(TuneOptions(), without_nodes(machine(), ("n2",)), "parameters = { DEPTH = [0, 1] }")
    assert (len(space), space.first["grid"], space.first["NB"], space.largest_n) == (2, "2x3", 192, 0)


def test_one_node_has_no_network_between_its_ranks() -> None:
    with pytest.raises(TunerError, match=r"net.mtu: all ranks run on n3 and speak through its memory, so .* nothing"):
        require_settings(["NB", "net.mtu"], part_of(machine(), 2, 4))
    require_settings(["NB"], part_of(machine(), 2, 4))


def test_trials_at_a_time_need_nodes_of_their_own() -> None:
    with pytest.raises(TunerError, match="would slow one another"):
        check_parallel(2, None)
    with pytest.raises(TunerError, match="lab has only 4 nodes"):
        check_parallel(5, RealCluster(CLUSTER))


ETH_2 = {"eth0": "10.0.0.2/24", "eth1": "10.3.0.2/24"}
ETH = {"n1": "10.0.0.1/24", "n2": "10.0.0.2/24"}
DOCKER, VIRBR = "172.17.0.1/16", "192.168.122.1/24"


def up(*networks: Mapping[str, str]) -> list[NodeSays]:
    return [replace(node, networks=each) for node, each in zip((N1, N2), networks, strict=True)]


def test_bridges_that_every_node_has_for_itself_are_not_taken_by_mpi() -> None:
    bridges = {"docker0": DOCKER, "virbr0": VIRBR}
    says = up(*({**bridges, "eth0": address} for address in ETH.values()))
    found = interfaces_between(CLUSTER, says, {**bridges, "eth0": "10.0.0.9/24"})
    assert found.names == ("eth0",)
    assert found.sentence == "MPI uses eth0, and not docker0, virbr0, over which nodes do not reach each other"
    assert not found.doubtful


def test_all_interfaces_that_lead_to_all_nodes_stay_in_use() -> None:
    both = ({"eth0": "10.0.0.1/24", "ib0": "10.1.0.1/24", "eth1": "10.2.0.1/24"}, {**ETH_2, "ib0": "10.1.0.2/24"})
    assert interfaces_between(CLUSTER, up(*both), both[0]).names == ("eth0", "ib0")


def test_mpi_chooses_where_there_is_nothing_wrong_to_take() -> None:
    says = up({"eth0": ETH["n1"]}, {"eth0": ETH["n2"]})
    found = interfaces_between(CLUSTER, says, {})
    assert (found.names, found.sentence) == ((), "MPI uses eth0, the only interface of the nodes that is up")
    assert interfaces_between(CLUSTER, up({}, {"eth0": ETH["n2"]}), {}) == Interfaces((), "")
    assert interfaces_between(CLUSTER, says[:1], {}) == Interfaces((), "")


def test_what_the_cluster_file_names_is_what_mpi_uses() -> None:
    named = CLUSTER.model_copy(update={"interfaces": ("ib0",)})
    says = up({"eth0": ETH["n1"], "docker0": DOCKER}, {"eth0": ETH["n2"], "docker0": DOCKER})
    assert interfaces_between(named, says, {}) == Interfaces(("ib0",), "MPI uses ib0, as use_interfaces says")


MLX, FREE = ("mlx5_0:1", "ib0"), ("mlx5_1:1", "")


def test_ucx_gets_the_ports_of_the_interfaces_that_somebody_named_and_else_all_of_them() -> None:
    assert ucx_devices([MLX, FREE], ["ib0"], named=True) == ("mlx5_0:1", "ib0")
    assert ucx_devices([MLX, FREE], ["eth0"], named=True) == ("eth0",)
    assert ucx_devices([MLX, FREE], ["eth0"], named=False) == ("mlx5_0:1", "mlx5_1:1", "eth0"), "no RDMA is lost"
    assert ucx_devices([], ["eth0"], named=True) == ("eth0",)
    assert ucx_devices(None, ["eth0"], named=True) == (), "Slurm's nodes told nothing"
    assert ucx_devices([MLX], [], named=False) == ()


def test_through_slurm_it_is_said_that_nobody_tells_ucx_of_interfaces() -> None:
    cluster = Cluster(name="site", backend="slurm", interfaces=("ib0",), batch=Slurm(nodes=2))
    assert "name the devices with mpi.UCX_NET_DEVICES" in (through_batch_system(cluster, "openmpi") or "")
    assert through_batch_system(cluster, "mpich") is None, "it gets UCX_NET_DEVICES with the names of the interfaces"
    assert through_batch_system(cluster.model_copy(update={"interfaces": ()}), "openmpi") is None


def test_infiniband_that_use_interfaces_leaves_out_is_told(tmp_path: Path) -> None:
    named = Cluster(**{**dict(CLUSTER), "interfaces": ("eth0",)})
    found, notices = surveyed(tmp_path, heard(*alike(rdma=dict([MLX]))), named)
    assert found.nodes is not None
    assert found.nodes.rdma == (MLX,)
    words = "Caution: use_interfaces names eth0, so MPI does not use the ports mlx5_0:1 (ib0) of InfiniBand or RoCE"
    assert words in notices
    _, notices = surveyed(tmp_path, heard(*alike(rdma=dict([MLX]))))
    assert "InfiniBand" not in notices


@pytest.mark.parametrize(
    ("second", "here", "words"),
    [
        ({"docker0": DOCKER, "eth0": "10.0.0.2/24"}, {"wlan0": "10.0.0.9/24"}, "and this host has no eth0"),
        ({"docker0": DOCKER, "eth0": "10.0.0.2/24"}, {"eth0": "10.9.0.9/24"}, "and this host has no eth0"),
        ({"docker0": DOCKER, "eno1": "10.0.0.2/24"}, {}, "none has the same name and network on all nodes"),
        ({"docker0": DOCKER, "eth0": "10.5.0.2/24"}, {}, "none has the same name and network on all nodes"),
    ],
)
def test_where_none_can_be_chosen_the_cluster_file_must_say_it(
    second: dict[str, str], here: dict[str, str], words: str
) -> None:
    found = interfaces_between(CLUSTER, up({"docker0": DOCKER, "eth0": ETH["n1"]}, second), here)
    assert found.names == ()
    assert found.doubtful
    assert words in found.sentence
    assert 'use_interfaces = ["eth0"]' in found.sentence


def test_a_study_on_nodes_says_which_interface_was_chosen_for_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_nodes, "own_networks", lambda: {"eth0": "10.0.0.9/24"})
    one, two = alike()
    nodes = (
        replace(one, networks={"docker0": DOCKER, "eth0": ETH["n1"]}),
        replace(two, networks={"docker0": DOCKER, "eth0": ETH["n2"]}),
    )
    found, notices = surveyed(tmp_path, heard(*nodes))
    assert found.nodes is not None
    assert found.nodes.interfaces == ("eth0",)
    assert part_of(found, 1, 2).nodes.interfaces == ("eth0",)  # type: ignore[union-attr]
    assert "MPI uses eth0, and not docker0, over which nodes do not reach each other." in notices


def test_cores_that_are_left_out_are_named_with_their_nodes(tmp_path: Path) -> None:
    _, notices = surveyed(tmp_path, heard(*alike(cores=64)))
    assert "cores of each node: n2 has more." in notices


def test_a_memory_of_thousands_of_digits_makes_an_answer_unreadable() -> None:
    with pytest.raises(ValueError, match="range"):
        parse_says("n1", f"memory_kib\t{'9' * 4000}\n")


PBS = Pbs(nodes=2, queue="regular")
DIFFERENT = (
    "nodes of PBS have 8 to 48 cores, and PBS does not tell which of them a job gets: write how many those have as "
    "cores under [node] of the cluster file"
)


def facts(*cores: int, limit_s: float | None = None) -> BatchFacts:
    queue = BatchQueue("regular", default=False, up=True, limit_s=limit_s, nodes=len(cores), nodes_per_job=None)
    return BatchFacts((queue,), (queue,), tuple(BatchNode(f"n{at}", own, 1024, "up") for at, own in enumerate(cores)))


@pytest.mark.parametrize(
    ("told", "cores", "sentences"),
    [
        (facts(48, 48), None, []),
        (facts(8, 48, 48), None, [DIFFERENT]),
        (facts(8, 48, 48), 48, []),
        (facts(8, 48, 48, limit_s=3600.0), None, []),
    ],
    ids=["alike", "different", "cores are told", "a queue whose nodes are known"],
)
def test_cores_are_told_where_nodes_differ_and_nobody_knows_which_a_job_gets(
    told: BatchFacts, cores: int | None, sentences: list[str]
) -> None:
    assert list(allocation_faults(PBS, told, cores)) == sentences
