"""The file of a real cluster."""

from pathlib import Path

import pytest

from runners.batch.slurm.system import Slurm
from runners.hosts.cluster import Cluster, find_real_cluster, load_real_cluster, stored_cluster
from runners.toml_file import ClusterFileError

HOSTS = 'name = "lab"\nhosts = ["n1", "n2"]\n'
OF_SSH = f'{HOSTS}backend = "ssh"\n'


def written(folder: Path, text: str) -> Path:
    """A cluster file."""
    (folder / "lab.toml").write_text(text)
    return folder / "lab.toml"


def test_files_that_sshs_options_name_lie_beside_the_cluster_file(tmp_path: Path) -> None:
    (tmp_path / "my-config").touch()
    file = written(tmp_path, f'{OF_SSH}ssh = ["ssh", "-F", "my-config", "-i", "/etc/key", "-l", "me"]\n')
    ssh = ("ssh", "-F", str(tmp_path / "my-config"), "-i", "/etc/key", "-l", "me")
    assert load_real_cluster(file).ssh == ssh


def test_a_host_with_its_user_is_told_where_users_stand(tmp_path: Path) -> None:
    file = written(tmp_path, 'name = "lab"\nbackend = "ssh"\nhosts = ["n1", "root@n2"]\n')
    with pytest.raises(ClusterFileError, match=r'line 3: hosts.1 = root@n2: .* say ssh = \["ssh", "-l", "user"\], or'):
        find_real_cluster(file)


@pytest.mark.parametrize("text", [HOSTS, 'name = "lab"\n[slurm]\nnodes = 2\n'])
def test_a_file_with_hosts_or_slurm_lacks_a_backend_and_is_no_virtual_cluster(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ClusterFileError, match="backend is missing"):
        find_real_cluster(file)


def test_trials_at_a_time_part_the_hosts_but_have_an_allocation_each() -> None:
    assert Cluster(name="lab", backend="ssh", hosts=("n1", "n2")).taken(2) == 2
    assert Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2)).taken(2) == 4


@pytest.mark.parametrize("key", ["interfaces", "use_interfaces"])
def test_the_interfaces_to_use_have_a_name_that_tells_them_from_those_of_each_node(tmp_path: Path, key: str) -> None:
    file = written(tmp_path, f'{OF_SSH}{key} = ["eth0"]\n[node]\ninterfaces = ["eth0", "eth1"]\n')
    cluster = load_real_cluster(file)
    assert (cluster.interfaces, cluster.node.interfaces) == (("eth0",), ("eth0", "eth1"))
    file.write_text(f'{OF_SSH}{key} = ["eth 0"]\n')
    with pytest.raises(ClusterFileError, match=rf"line 4: {key}\.0 = eth 0: "):
        load_real_cluster(file)


def test_the_interfaces_to_use_are_said_once(tmp_path: Path) -> None:
    file = written(tmp_path, f'{OF_SSH}use_interfaces = ["eth0"]\ninterfaces = ["eth1"]\n')
    with pytest.raises(ClusterFileError, match=r"use_interfaces and interfaces above \[node\] are two spellings"):
        load_real_cluster(file)


def test_a_file_tells_which_hosts_share_a_switch_and_how_fast_they_are(tmp_path: Path) -> None:
    file = written(tmp_path, f'{OF_SSH}[switches]\nupper = ["n1"]\nlower = ["n2"]\n[speeds]\nn1 = 80\nn2 = 75.5\n')
    cluster = load_real_cluster(file)
    assert cluster.switches == {"upper": ("n1",), "lower": ("n2",)}
    assert cluster.speeds == {"n1": 80.0, "n2": 75.5}
    assert stored_cluster(cluster.table()) == cluster


def test_what_a_file_does_not_say_is_not_stored() -> None:
    new = {"switches", "speeds", "stage", "stage_folder"}
    assert not new & Cluster(name="lab", backend="ssh", hosts=("n1",)).table().keys()


def test_a_file_tells_that_programs_are_copied_and_where_to(tmp_path: Path) -> None:
    file = written(tmp_path, f'{OF_SSH}stage = "copy"\nstage_folder = "/scratch"\n')
    cluster = load_real_cluster(file)
    assert (cluster.copies, cluster.stage_folder) == (True, "/scratch")
    assert stored_cluster(cluster.table()) == cluster


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[switches]\na = ["n1", "n3"]\n', r"\[switches\] names n3, which is not among hosts"),
        ('[switches]\na = ["n1"]\nb = ["n2", "n1"]\n', r"\[switches\] names n1 twice: a host is at one switch"),
        ("[speeds]\nn1 = 80\nn3 = 70\n", r"\[speeds\] names n3, which is not among hosts"),
        ("[speeds]\nn1 = 80\n", r"\[speeds\] says nothing of n2: name the speed of every host, or leave"),
        ('stage = "send"\n', r"stage = send: .*'shared' or 'copy'"),
        ('stage_folder = "scratch"\n', r"stage_folder = scratch: expected an absolute path"),
        ('stage_folder = "/tmp/../etc"\n', r"stage_folder = /tmp/\.\./etc: expected the path itself, without"),
        ("ssh = []\n", r'ssh: name the program that reaches hosts and its options: ssh = \["ssh"\]'),
        ("[speeds]\nn1 = 80\nn2 = 0\n", r"speeds\.n2 = 0: .*write more than 0"),
        ('on_node_loss = "cry"\n', "line 4: on_node_loss = cry"),
    ],
)
def test_a_table_of_hosts_that_cannot_be_right_is_refused_with_a_sentence(
    tmp_path: Path, table: str, said: str
) -> None:
    file = written(tmp_path, f"{OF_SSH}{table}")
    with pytest.raises(ClusterFileError, match=said):
        load_real_cluster(file)


def test_hosts_may_be_written_as_slurm_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    upper = 'upper = ["node[08-10].rack1", "head"]'
    file.write_text(
        'name = "lab"\nbackend = "ssh"\nhosts = ["head", "node[08-10].rack1", "n[1,3-4]", "::1"]\n'
        f"[switches]\n{upper}\n"
    )
    cluster = load_real_cluster(file)
    rack = ("node08.rack1", "node09.rack1", "node10.rack1")
    assert cluster.hosts == ("head", *rack, "n1", "n3", "n4", "::1")
    assert cluster.switches == {"upper": (*rack, "head")}
    assert stored_cluster(cluster.table()) == cluster


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("[]", 'backend "ssh" needs hosts'),
        (
            '["n1", "-oProxyCommand=x"]',
            "line 3: hosts.1 = -oProxyCommand=x: that is no host: expected a name of letters",
        ),
        ('["n[1-3]", "n2"]', "hosts names a node twice: n2"),
        ('["n1", "N1"]', "hosts names a node twice: n1 and N1"),
        ('["n[1-x]"]', r"hosts.0 = n\[1-x\]: that is no host"),
        ('["n[4-1]"]', "a range rises, and names at most 65,536 hosts"),
        ('["n1", "n2:2222"]', r'hosts.1 = n2:2222: hosts are named without ports: say ssh = \["ssh", "-p", "2222"\]'),
    ],
)
def test_hosts_that_cannot_be_meant_are_refused_with_what_to_do(tmp_path: Path, hosts: str, said: str) -> None:
    file = written(tmp_path, f'name = "lab"\nbackend = "ssh"\nhosts = {hosts}\n')
    with pytest.raises(ClusterFileError, match=said):
        load_real_cluster(file)


def test_who_wrote_an_unknown_key_is_told_only_of_keys_that_a_file_may_have(tmp_path: Path) -> None:
    file = written(tmp_path, 'name = "lab"\nbackend = "ssh"\nhosts = ["n1"]\nzzz = 1\n')
    with pytest.raises(ClusterFileError, match="zzz is not known here: known are name, backend, hosts, ssh,") as wrong:
        load_real_cluster(file)
    assert "use_interfaces" in str(wrong.value)
    assert not {"hosts_from", "batch", "interfaces"} & set(str(wrong.value).replace(",", "").split())
