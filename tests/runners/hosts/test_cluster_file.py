"""The file of a real cluster."""

from pathlib import Path

import pytest

from runners.hosts.cluster import Cluster, SlurmTable, find_real_cluster, load_real_cluster
from runners.toml_file import ClusterFileError

HOSTS = 'name = "lab"\nhosts = ["n1", "n2"]\n'


def test_files_that_sshs_options_name_lie_beside_the_cluster_file(tmp_path: Path) -> None:
    (tmp_path / "my-config").touch()
    file = tmp_path / "lab.toml"
    file.write_text(f'{HOSTS}backend = "ssh"\nssh = ["ssh", "-F", "my-config", "-i", "/etc/key", "-l", "me"]\n')
    ssh = ("ssh", "-F", str(tmp_path / "my-config"), "-i", "/etc/key", "-l", "me")
    assert load_real_cluster(file).ssh == ssh


def test_a_host_with_its_user_is_told_where_users_stand(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text('name = "lab"\nbackend = "ssh"\nhosts = ["n1", "root@n2"]\n')
    with pytest.raises(ClusterFileError, match=r'line 3: hosts.1 = root@n2: .* say ssh = \["ssh", "-l", "user"\], or'):
        find_real_cluster(file)


@pytest.mark.parametrize("text", [HOSTS, 'name = "lab"\n[slurm]\nnodes = 2\n'])
def test_a_file_with_hosts_or_slurm_lacks_a_backend_and_is_no_virtual_cluster(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(text)
    with pytest.raises(ClusterFileError, match="backend is missing"):
        find_real_cluster(file)


def test_trials_at_a_time_part_the_hosts_but_have_an_allocation_each() -> None:
    assert Cluster(name="lab", backend="ssh", hosts=("n1", "n2")).taken(2) == 2
    assert Cluster(name="lab", backend="slurm", slurm=SlurmTable(nodes=2)).taken(2) == 4


@pytest.mark.parametrize("key", ["interfaces", "use_interfaces"])
def test_the_interfaces_to_use_have_a_name_that_tells_them_from_those_of_each_node(tmp_path: Path, key: str) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(f'{HOSTS}backend = "ssh"\n{key} = ["eth0"]\n[node]\ninterfaces = ["eth0", "eth1"]\n')
    cluster = load_real_cluster(file)
    assert (cluster.interfaces, cluster.node.interfaces) == (("eth0",), ("eth0", "eth1"))
    file.write_text(f'{HOSTS}backend = "ssh"\n{key} = ["eth 0"]\n')
    with pytest.raises(ClusterFileError, match=rf"line 4: {key}\.0 = eth 0: "):
        load_real_cluster(file)


def test_the_interfaces_to_use_are_said_once(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(f'{HOSTS}backend = "ssh"\nuse_interfaces = ["eth0"]\ninterfaces = ["eth1"]\n')
    with pytest.raises(ClusterFileError, match="line 5: interfaces is not known here"):
        load_real_cluster(file)
