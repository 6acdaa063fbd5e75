"""`hpltune` inside an allocation that somebody else has: its hosts, by ssh, and not the batch system's way to start."""

from pathlib import Path

import pytest
from net_lab import HostsLab
from on_head import OnHead
from runner_contract import slurm_allocation

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
FAST = (
    *("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--set", "layout=2x1"),
    *("--budget", "2m", "--engine", "random", "--confirm", "0"),
)


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(3)


def cluster(lab: HostsLab, home: Path, hosts: str) -> str:
    file = home / "job.toml"
    file.write_text(f"{lab.cluster(hosts=hosts)}[node]\nmemory_gib = 1\n")
    return str(file)


def hosts_of(head: OnHead, study: str) -> list[str]:
    return [",".join(record["hosts"]) for record in head.told("show", study)]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_study_runs_on_the_nodes_of_the_allocation_and_goes_on_in_the_next_one(
    head: OnHead, lab: HostsLab, home: Path, monkeypatch: pytest.MonkeyPatch, mpi: str
) -> None:
    for name, value in slurm_allocation("h[1-2]").items():
        monkeypatch.setenv(name, value)
    file = cluster(lab, home, "env:SLURM_JOB_NODELIST")
    head.well("tune", "--cluster", file, *FAST, "--set", f"mpi={mpi}", "--trials", "2", "--study", "jobs")
    begun = hosts_of(head, "jobs")
    assert set(begun) == {"h1,h2"}
    for name, value in slurm_allocation("h[1,3]").items():
        monkeypatch.setenv(name, value)
    head.well("tune", "--resume", "--study", "jobs", "--cluster", file, "--trials", "4")
    assert set(hosts_of(head, "jobs")[len(begun) :]) == {"h1,h3"}
    monkeypatch.setenv("SLURM_JOB_NODELIST", "h[1-3]")
    assert "study jobs was begun on 2 nodes, and env:SLURM_JOB_NODELIST names 3: take an allocation" in head.refused(
        "tune", "--resume", "--study", "jobs", "--cluster", file, "--trials", "5", code=1
    )


def test_the_file_of_an_mpi_job_names_the_nodes(head: OnHead, lab: HostsLab, home: Path) -> None:
    (home / "hostfile").write_text("h2 slots=1\nh3 slots=1\n")
    head.well("tune", "--cluster", cluster(lab, home, "file:hostfile"), *FAST, "--trials", "1", "--study", "pods")
    assert set(hosts_of(head, "pods")) == {"h2,h3"}


def test_outside_of_an_allocation_one_sentence_says_so_and_nothing_is_started(
    head: OnHead, lab: HostsLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PBS_NODEFILE", raising=False)
    file = cluster(lab, home, "env:PBS_NODEFILE")
    for command in (("tune", *FAST, "--trials", "1"), ("doctor",), ("nodes", "check")):
        done = head(*command, "--cluster", file)
        assert done.returncode == 2, done.stdout
        assert "line 3: hosts = env:PBS_NODEFILE: the variable PBS_NODEFILE is not set: start hpltune" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    assert not list((home / "data").glob("runs/*/*"))
