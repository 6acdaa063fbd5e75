"""Lists of hosts in a cluster file: ranges, files, and what a batch system tells those inside its allocation."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.hosts.cluster import Cluster, load_real_cluster, stored_cluster
from runners.hosts.host_lists import MOST_HOSTS, expanded, listed_hosts
from runners.toml_file import ClusterFileError

PBS = "node7\nnode7\nnode7\nnode12\nnode12\nnode12\n"
MPI_OPERATOR = "hpl-worker-0.hpl.default.svc slots=4\nhpl-worker-1.hpl.default.svc slots=4\n"
MPI_OPERATOR_OF_INTEL = "hpl-worker-0.hpl.default.svc:4\nhpl-worker-1.hpl.default.svc:4\n"
GRID_ENGINE = "c1-4.site 8 all.q@c1-4.site UNDEFINED\nc1-9.site 8 all.q@c1-9.site UNDEFINED\n"
WITH_COMMENTS = "# the rack\n\n  n[01-03]  # three of them\nfd77::2\nfd77::3\n"


def cluster_file(folder: Path, hosts: str) -> Path:
    file = folder / "lab.toml"
    file.write_text(f'name = "lab"\nbackend = "ssh"\nhosts = "{hosts}"\n')
    return file


@pytest.mark.parametrize(
    ("name", "text", "hosts"),
    [
        ("PBS_NODEFILE", PBS, ("node7", "node12")),
        ("LSB_DJOB_HOSTFILE", PBS, ("node7", "node12")),
        ("OMPI_MCA_orte_default_hostfile", MPI_OPERATOR, tuple(f"hpl-worker-{n}.hpl.default.svc" for n in (0, 1))),
        ("I_MPI_HYDRA_HOST_FILE", MPI_OPERATOR_OF_INTEL, tuple(f"hpl-worker-{n}.hpl.default.svc" for n in (0, 1))),
        ("PE_HOSTFILE", GRID_ENGINE, ("c1-4.site", "c1-9.site")),
        ("NODES", WITH_COMMENTS, ("n01", "n02", "n03", "fd77::2", "fd77::3")),
        ("NODES", "\ufeffn01\nn02\n", ("n01", "n02")),
        ("RANKFILE", "rank 0=n01 slot=0:0-3\nrank 1=n02 slot=1\nrank 2=n01 slot=2\n", ("n01", "n02")),
        (
            "INVENTORY",
            "head ansible_host=10.0.0.1 ansible_user=root\n[compute]\nn[01-02]\n[compute:vars]\nansible_port=22\n",
            ("10.0.0.1", "n01", "n02"),
        ),
    ],
)
def test_a_file_that_a_variable_names_has_each_host_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, hosts: tuple[str, ...]
) -> None:
    (tmp_path / "nodes").write_text(text)
    monkeypatch.setenv(name, str(tmp_path / "nodes"))
    assert load_real_cluster(cluster_file(tmp_path, f"env:{name}")).hosts == hosts
    assert load_real_cluster(cluster_file(tmp_path, "file:nodes")).hosts == hosts
    monkeypatch.setenv(name, "nodes")
    assert load_real_cluster(cluster_file(tmp_path, f"env:{name}")).hosts == hosts


@pytest.mark.parametrize(
    ("name", "value", "hosts"),
    [
        ("SLURM_JOB_NODELIST", "gpu[08-10,12],login1", ("gpu08", "gpu09", "gpu10", "gpu12", "login1")),
        ("SLURM_JOB_NODELIST", "r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("FLUX_JOB_NODELIST", "corona[99-101]", ("corona99", "corona100", "corona101")),
        ("NODES", "n[01-06/2,9]", ("n01", "n03", "n05", "n9")),
        ("NODES", "n[10,2,1]", ("n10", "n2", "n1")),
        ("LSB_HOSTS", "hosta hosta hostb", ("hosta", "hostb")),
    ],
)
def test_a_variable_may_have_the_hosts_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, hosts: tuple[str, ...]
) -> None:
    monkeypatch.setenv(name, value)
    assert load_real_cluster(cluster_file(tmp_path, f"env:{name}")).hosts == hosts
    assert load_real_cluster(cluster_file(tmp_path, value)).hosts == hosts


SPANS = st.tuples(st.integers(0, 300), st.integers(0, 40), st.integers(1, 50), st.integers(1, 5))


@given(st.lists(SPANS, min_size=1, max_size=4))
def test_a_range_names_its_hosts_in_the_order_in_which_it_is_written(spans: list[tuple[int, int, int, int]]) -> None:
    texts = [f"{first:0{digits}d}-{first + more:0{digits}d}/{step}" for first, more, step, digits in spans]
    hosts = [
        f"n{number:0{digits}d}x"
        for first, more, step, digits in spans
        for number in range(first, first + more + 1, step)
    ]
    written = f"n[{','.join(texts)}]x"
    assert expanded(written) == tuple(hosts)
    assert listed_hosts(written, Path("/")) == tuple(dict.fromkeys(hosts))
    assert expanded(f"{written}[1-2]") == tuple(f"{host}{number}" for host in hosts for number in (1, 2))
    with pytest.raises(ValueError, match="a range of hosts has numbers in brackets"):
        expanded(f"n[{','.join(texts)},/2]x")


def test_a_study_keeps_the_hosts_and_where_they_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    cluster = load_real_cluster(cluster_file(tmp_path, "env:SLURM_JOB_NODELIST"))
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    assert stored_cluster(cluster.table()) == cluster
    assert (cluster.hosts, cluster.hosts_from) == (("n1", "n2"), "env:SLURM_JOB_NODELIST")
    assert "hosts_from" not in Cluster(name="lab", backend="ssh", hosts=("n1",)).table()


def test_a_database_names_no_variable_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    table = load_real_cluster(cluster_file(tmp_path, "n1")).table()
    with pytest.raises(ClusterFileError, match="the stored cluster: hosts = env:SLURM_JOB_NODELIST: write a list"):
        stored_cluster({**table, "hosts": "env:SLURM_JOB_NODELIST"})


def test_a_switch_may_have_its_hosts_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "rack1").write_text("n1\nn2\n")
    file = cluster_file(tmp_path, "n[1-4]")
    file.write_text(f'{file.read_text()}[switches]\nupper = "file:rack1"\nlower = ["n[3-4]"]\n')
    assert load_real_cluster(file).switches == {"upper": ("n1", "n2"), "lower": ("n3", "n4")}


@pytest.mark.parametrize(
    ("hosts", "variable", "said"),
    [
        ("env:NODES", None, "hosts = env:NODES: the variable NODES is not set: start hpltune inside a job of"),
        ("env:NODES", " ", "the variable NODES is empty: start hpltune inside a job of"),
        ("env:NODES", "n[1-", "NODES is n[1-: a range of hosts has numbers in brackets, as node[01-16,20]"),
        ("env:NODES", "n[4-1]", "NODES is n[4-1]: a range rises, and names at most 65,536 hosts"),
        ("env:NODES", "n[1-9999]m[1-9999]", "NODES is n[1-9999]m[1-9999]: a range rises, and names at most 65,536"),
        ("env:NODES", "a[1-60000],b[1-60000]", "NODES is a[1-60000],b[1-60000]: more than 65,536 hosts"),
        ("env:NODES", "n1 4 n2 4", "NODES is n1 4 n2 4: 4 is no host: expected a name of letters"),
        ("env:NODES", "n1,-oProxyCommand=x", "-oProxyCommand=x is no host"),
        ("env:NODES", "n1\x1b", r"NODES is 'n1\x1b': 'n1\x1b' is no host"),
        ("env:NODES", "x" * 999, f"NODES is {'x' * 80}…: {'x' * 80}… is no host"),
        ("env:NODES", "/there/is/none", "the file /there/is/none, which NODES names, cannot be read (No such file"),
        ("env:NODES", "/etc", "the file /etc, which NODES names, cannot be read (Is a directory)"),
        ("env:1", None, 'expected the name of a variable, as hosts = "env:PBS_NODEFILE"'),
        ("env:", None, 'expected the name of a variable, as hosts = "env:PBS_NODEFILE"'),
        ("", None, "it names no host"),
        ("file:none", None, "none cannot be read (No such file or directory)"),
        ("file:pipe", None, "pipe is a pipe: write the hosts into a file"),
        ("file:empty", None, "empty names no host"),
        ("file:wrong", None, "wrong, line 2: root@n2 names a user: name the host alone, and its user in ~/.ssh/config"),
        ("file:many", None, "many, line 2: more than 65,536 hosts"),
        ("file:wide", None, "wide, line 1: a range rises, and names at most 65,536 hosts"),
    ],
)
def test_a_list_that_names_no_hosts_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: str, variable: str | None, said: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_text("# nothing\n\n")
    (tmp_path / "wrong").write_text("n1 slots=2\nroot@n2\n")
    (tmp_path / "many").write_text("n[1-65000]\nm[1-65000]\n")
    (tmp_path / "wide").write_text("n[1-65537]\n")
    monkeypatch.delenv("NODES", raising=False)
    if variable is not None:
        monkeypatch.setenv("NODES", variable)
    with pytest.raises(ClusterFileError, match=re.escape(said)) as refused:
        load_real_cluster(cluster_file(tmp_path, hosts))
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith(f"{tmp_path / 'lab.toml'}, line 3: hosts")


def test_a_variable_among_hosts_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text('name = "lab"\nbackend = "ssh"\nhosts = ["n1", "env:NODES"]\n')
    with pytest.raises(ClusterFileError, match='this stands alone, without brackets: hosts = "env:NODES"'):
        load_real_cluster(file)
    file.write_text('name = "lab"\nbackend = "ssh"\nhosts = ["n1"]\nhosts_from = "env:NODES"\n')
    with pytest.raises(ClusterFileError, match="hosts_from is not known here"):
        load_real_cluster(file)


@given(st.text(max_size=40) | st.from_regex(r"\A[a-z0-9\[\],:. -]{0,30}\Z"))
def test_any_text_gives_hosts_or_one_sentence(text: str) -> None:
    try:
        hosts = listed_hosts("env:NODES", Path("/nowhere"), {"NODES": text})
    except ValueError as error:
        said, hosts = str(error), ()
    else:
        said = "hosts"
    assert said.isprintable()
    if hosts:
        assert len(hosts) <= MOST_HOSTS
        assert len(set(hosts)) == len(hosts)
        assert Cluster(name="lab", backend="ssh", hosts=tuple({host.lower(): host for host in hosts}.values()))
