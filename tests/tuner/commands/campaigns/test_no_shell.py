"""`hpltune` on nodes whose shells would run what a user, a file or a database says, if anything of it came to them."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from net_lab import HostsLab
from on_head import on_head

from runners.hosts.cluster import load_real_cluster
from runners.toml_file import ClusterFileError
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine

ALL = "a$(canary)`canary`';canary;'\";canary;\" b:c;canary&canary|canary"
SIGNS = (
    "a$(canary)", "a`canary`", "a';canary;'", 'a";canary;"', "a;canary;", "a\ncanary\n", "-canary", "a canary",
    "a&canary&", "a|canary", "\x1b[31ma",
)  # fmt: skip
FAST = (
    *("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--set", "layout=2x1"),
    *("--budget", "2m", "--engine", "random", "--confirm", "0"),
)


@dataclass(frozen=True)
class User:
    """Somebody on the first host; every host, that one too, has the canary on its PATH."""

    lab: HostsLab
    home: Path

    def hpltune(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with patch.dict(os.environ, {"PATH": f"{self.lab.programs}:{os.environ['PATH']}"}):
            return on_head(self.lab, self.home)(*arguments)

    def cluster(self, *ssh: str) -> str:
        """A cluster file of both hosts."""
        keys = {"name": "lab", "backend": "ssh", "hosts": ["h1", "h2"], "interfaces": ["eth0"]}
        keys["ssh"] = [*self.lab.ssh, "-o", "ConnectTimeout=2", *ssh]
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
        (self.home / "lab.toml").write_text(f"{text}[node]\nmemory_gib = 1\n")
        return str(self.home / "lab.toml")


@pytest.fixture
def user(lab: HostsLab, home: Path) -> Iterator[User]:
    sung = lab.folder / "sung"
    sung.unlink(missing_ok=True)
    with lab.planted("canary", f"#!/bin/sh\ntouch {sung}\n"):
        yield User(lab, home)
    assert not sung.exists(), "a shell has run what it should not even have read"


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_study_and_its_folders_may_be_called_anything(user: User, monkeypatch: pytest.MonkeyPatch, mpi: str) -> None:
    data = user.home / ALL
    monkeypatch.setenv("HPLTUNE_DATA", str(data))
    cluster = user.cluster()
    one = ("tune", "--cluster", cluster, *FAST, "--set", f"mpi={mpi}", "--trials", "1")
    done = user.hpltune(*one, "--study", ALL)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (data / "runs").iterdir()
    assert folder.name.startswith("a_canary_canary_")
    again = user.hpltune("tune", "--resume", "--trials", "2")
    assert again.returncode == 0, again.stdout + again.stderr
    shown = json.loads(user.hpltune("show", ALL, "--json").stdout)
    assert {Path(record["directory"]).parent for record in shown} == {folder}
    best = json.loads(user.hpltune("best", ALL, "--json").stdout)
    like = user.hpltune("run", str(Path(shown[-1]["directory"]) / "HPL.dat"), "--like", ALL)
    assert best["ranking"]
    assert like.returncode == 0, like.stdout + like.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    "setting",
    ["mpi.btl", "mpi.a$(canary)", "net.interface", "net.tcp_congestion", "net.mtu", "mpi", "kernel", "binding"],
)
def test_a_value_that_a_shell_would_misread_is_one_sentence(user: User, setting: str) -> None:
    done = user.hpltune("tune", "--cluster", user.cluster(), *FAST, "--set", f"{setting}={ALL}", "--trials", "1")
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    assert setting.partition("$")[0] in done.stderr
    assert not list((user.home / "data").glob("runs/*/*"))


@pytest.mark.usefixtures("real_hpl")
def test_a_study_of_another_users_database_runs_nothing_on_nodes(user: User) -> None:
    done = user.hpltune("tune", "--cluster", user.cluster(), *FAST, "--trials", "1", "--study", "mine")
    assert done.returncode == 0, done.stdout + done.stderr
    stored = sqlite3.connect(user.home / "data/hpltune.db")
    ((text,),) = stored.execute("SELECT options FROM studies")
    options = json.loads(text)
    for overrides, hosts, words in (
        ({"mpi.btl": [f"tcp,self{ALL}"]}, ["h1", "h2"], "--set mpi.btl: mpi.btl = tcp,self"),
        ({"mpi.orte_launch_agent": ["/home/evil"]}, ["h1", "h2"], "names what MPI starts or loads"),
        ({}, ["h1", "h2;canary"], "the stored cluster: hosts.1"),
        ({}, ["h1", "-oProxyCommand=canary"], "the stored cluster: hosts.1"),
    ):
        changed = {**options, "overrides": {**options["overrides"], **overrides}}
        changed["real_cluster"] = {**options["real_cluster"], "hosts": hosts}
        with stored:
            stored.execute("UPDATE studies SET options = ?, name = ?", (json.dumps(changed), f"../../{ALL}"))
            stored.execute("UPDATE trials SET study = ?", (f"../../{ALL}",))
        resumed = user.hpltune("tune", "--resume", "--trials", "3")
        assert resumed.returncode == 2
        assert words in resumed.stderr
        assert resumed.stderr.count("\n") == 1
    assert not list(user.home.glob("a*")), "no name leads out of the folder of runs"


@pytest.mark.real
def test_ssh_options_are_read_by_no_shell(user: User) -> None:
    done = user.hpltune("doctor", "--cluster", user.cluster("-l", f"root{ALL}"))
    assert done.returncode == 1


MACHINE = Machine(cores=2, memory_bytes=2**32, blas={"openblas": BlasFacts()}, N=1000)


@pytest.mark.parametrize("sign", [*SIGNS, ALL])
@pytest.mark.parametrize("where", ["--set", "file", "start", "forbid"])
def test_an_mpi_value_is_refused_where_the_space_is_read(where: str, sign: str) -> None:
    entry = f"mpi.btl = {json.dumps(sign)}\n"
    fixed = '[parameters]\nN = 800\nNB = 64\nlayout = "2x1"\n'
    text = {
        "--set": fixed,
        "file": fixed + entry,
        "start": f'{fixed}mpi.btl = ["tcp"]\n[[start]]\n{entry}',
        "forbid": f'{fixed}mpi.btl = ["tcp"]\n[[forbid]]\nbecause = "no"\n[forbid.when]\n{entry}',
    }[where]
    with pytest.raises(SpaceError, match=r"mpi\.btl.* = .*: expected letters, digits and _ \. , : / \+ = @ % \^ -"):
        load("file.toml", MACHINE, {"mpi.btl": [sign]} if where == "--set" else {}, text)


@pytest.mark.parametrize("sign", [*SIGNS, ALL])
@pytest.mark.parametrize("key", ["name", "hosts", "interfaces", "node", "partition", "nodelist", "further"])
def test_a_cluster_files_value_that_a_shell_would_misread_is_one_sentence(tmp_path: Path, key: str, sign: str) -> None:
    said = json.dumps(sign)
    slurm = 'name = "lab"\nbackend = "slurm"\n[slurm]\nnodes = 2\n'
    text = {
        "name": f'name = {said}\nbackend = "ssh"\nhosts = ["h1"]\n',
        "hosts": f'name = "lab"\nbackend = "ssh"\nhosts = ["h1", {said}]\n',
        "interfaces": f'name = "lab"\nbackend = "ssh"\nhosts = ["h1"]\ninterfaces = [{said}]\n',
        "node": f'name = "lab"\nbackend = "ssh"\nhosts = ["h1"]\n[node]\ninterfaces = [{said}]\n',
        "partition": f"{slurm}partition = {said}\n",
        "nodelist": f"{slurm}nodelist = {said}\n",
        "further": f"{slurm}further = [{said}]\n",
    }[key]
    file = tmp_path / "lab.toml"
    file.write_text(text)
    with pytest.raises(ClusterFileError) as refused:
        load_real_cluster(file)
    assert key in str(refused.value) or "slurm" in str(refused.value)
    assert str(refused.value).isprintable()
