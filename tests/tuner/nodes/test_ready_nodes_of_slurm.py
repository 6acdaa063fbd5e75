"""`tune --nodes-check` through a real Slurm: all nodes are held, checked and given back, and bad ones are left out."""

import os
import shutil
from pathlib import Path

import pytest
from as_user import Run, program
from node_check_builders import FIRST_DAY
from slurm_lab import SlurmLab
from waiting import until

from results.node_check import NodeCheck, NodeRun
from runners.batch.slurm.system import Slurm
from runners.hosts.cluster import Cluster
from tuner.errors import NotReadyError
from tuner.nodes.ready_nodes import SPEED, CheckedNodes
from tuner.nodes.statistics.verdict import verdict_of

FAST = ("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--engine", "random",
        "--trials", "1", "--confirm", "0", "--study", "mine")  # fmt: skip


@pytest.fixture
def cluster(home: Path, slurm: SlurmLab) -> str:
    file = home / "cluster.toml"
    file.write_text(slurm.cluster("cores = 1\nmemory_gib = 1\n", exclusive=False, time_limit_s=1800))
    return str(file)


@pytest.fixture
def asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command lines of sbatch; steps on n2 fail, as on a node whose file system is gone."""
    folder, log = home / "bin", home / "asked"
    folder.mkdir()
    here = {name: shutil.which(name) for name in ("srun", "sbatch")}
    bad = f'case "$*" in *--nodelist=n2*) echo "n2: Input/output error" >&2; exit 1;; esac\nexec {here["srun"]} "$@"'
    program(folder / "srun", f"#!/bin/sh\n{bad}\n")
    program(folder / "sbatch", f'#!/bin/sh\necho "$*" >> {log}\nexec {here["sbatch"]} "$@"\n')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return log


@pytest.mark.usefixtures("real_hpl")
def test_all_nodes_are_checked_and_given_back_before_a_study(hpltune: Run, slurm: SlurmLab, cluster: str) -> None:
    with slurm.drained("n2", "bad disk"):
        done = hpltune("tune", "--cluster", cluster, "--nodes-check", "refuse", *FAST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bad disk" not in done.stdout, "Slurm gives that node to nobody anyway"
    until(lambda: slurm.jobs() == [])


@pytest.mark.usefixtures("real_hpl")
def test_slurm_is_asked_for_other_nodes_than_a_bad_one(
    hpltune: Run, slurm: SlurmLab, cluster: str, asked: Path
) -> None:
    done = hpltune.well("tune", "--cluster", cluster, "--nodes-check", "drop", *FAST)
    assert "Left out: n2 is out: " in done.stdout
    assert "--exclude=n2" in asked.read_text()
    hpltune.well("tune", "--resume", "--study", "mine", "--cluster", cluster, "--trials", "2")
    assert all("--exclude=n2" in line for line in asked.read_text().splitlines())
    until(lambda: slurm.jobs() == [])


@pytest.mark.usefixtures("real_hpl")
def test_a_bad_node_is_refused_and_so_are_too_few_others(
    hpltune: Run, slurm: SlurmLab, cluster: str, asked: Path
) -> None:
    said = hpltune.refused("tune", "--cluster", cluster, "--nodes-check", "refuse", *FAST, code=3)
    assert "the nodes of lab are not ready: n2 is out: " in said
    assert "asks Slurm for others than slow ones" in said
    Path(cluster).write_text(Path(cluster).read_text().replace("nodes = 1", "nodes = 2"))
    said = hpltune.refused("tune", "--cluster", cluster, "--nodes-check", "drop", *FAST, code=3)
    assert "a trial takes 2 nodes, and 1 node of Slurm can be used" in said
    assert not asked.exists(), "no study was begun"
    until(lambda: slurm.jobs() == [])


def checked(*gflops: float, nodes: int, **table: object) -> tuple[CheckedNodes, Slurm]:
    names = tuple(f"n{number}" for number in range(1, len(gflops) + 1))
    runs = tuple(NodeRun(SPEED, name, speed) for name, speed in zip(names, gflops, strict=True))
    slurm = Slurm.model_validate({"nodes": nodes, **table})
    verdict = verdict_of(NodeCheck("lab", FIRST_DAY, names, runs=runs))
    return CheckedNodes(Cluster(name="lab", backend="slurm", batch=slurm), verdict), slurm


def test_slow_nodes_are_left_out_as_far_as_others_are_there() -> None:
    found, table = checked(80, 40, 80, 20, nodes=2)
    left_out, said = found.others_of_batch(table, 2)
    assert left_out == ("n4", "n2")
    assert said[-1] == "Slurm is asked for other nodes than n4 and n2."
    left_out, said = found.others_of_batch(table, 3)
    assert left_out == ("n4",)
    assert said[-1] == "Slurm may give n2, because too few other nodes are there."


def test_nodes_that_the_cluster_file_names_are_kept_if_they_are_only_slow() -> None:
    found, table = checked(80, 80, 30, nodes=3, nodelist="n[1-3]")
    left_out, said = found.others_of_batch(table, 3)
    assert left_out == ()
    assert said[-1] == "Slurm may give n3, because too few other nodes are there."


def test_a_study_on_more_nodes_than_can_be_used_is_refused() -> None:
    found, table = checked(80, 80, nodes=3)
    with pytest.raises(NotReadyError, match="a trial takes 3 nodes, and 2 nodes of Slurm can be used"):
        found.others_of_batch(table, 3)
