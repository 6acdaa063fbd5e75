"""`hpltune nodes check --groups` on real nodes: namespaces of this machine, real ssh, real MPI, real HPL."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from as_user import HPLTUNE, Run, program
from net_lab import HostsLab
from on_head import OnHead
from waiting import PATIENCE_S, until

GROUPS = ("nodes", "check", "--benchmark", "groups", "--blas", "openblas", "--groups")
SMALL = "[node]\ncores = 1\nmemory_gib = 0.03\n"
"""Memory for N of about 2,000, so that a run takes no second."""
FAILS_ON_H3 = """#!/bin/sh
case "$(hostname) $*" in h3\\ *orted* | h3\\ *prted*) echo "h3 has a bad board" >&2; exit 7 ;; esac
exec /bin/sh "$@"
"""
"""A shell that starts no daemon of MPI on one host."""
MPI_OF_THE_HEAD = """#!/bin/sh
[ "$(hostname)" = h1 ] || exit 1
exec "{mpirun}" "$@"
"""


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(4)


@pytest.fixture
def cluster(lab: HostsLab, home: Path) -> Path:
    file = home / "lab.toml"
    file.write_text(lab.cluster() + SMALL)
    return file


def left_behind(lab: HostsLab, home: Path) -> list[str]:
    """What still runs on a host or lies in the folder of runs."""
    running = [line for host in lab.names for line in lab.processes(host) if "xhpl" in line or "mpirun" in line]
    return [*running, *map(str, (home / "data/runs").glob("*"))]


def found(told: dict[str, Any], what: str) -> list[dict[str, Any]]:
    return [finding for finding in told["findings"] if finding["what"] == what]


@pytest.mark.usefixtures("real_hpl")
def test_four_nodes_run_hpl_in_groups_of_two_and_the_runs_are_kept(
    head: OnHead, lab: HostsLab, cluster: Path, home: Path
) -> None:
    done = head(*GROUPS, "2", "--cluster", str(cluster), "--repeats", "2", "--json")
    told = json.loads(done.stdout)
    assert told["out"] == [], done.stderr
    runs = told["groups"]
    assert all(run["accurate"] and run["gflops"] > 0 for run in runs)
    turns = Counter((run["order"], run["turn"]) for run in runs)
    assert turns == {(order, turn): 2 for order in ("sorted", "shuffle") for turn in (1, 2)}
    for turn in turns:
        nodes = [node for run in runs if (run["order"], run["turn"]) == turn for node in run["nodes"]]
        assert sorted(nodes) == sorted(lab.names)
    assert "on 2 shuffled groups of 2 nodes: 2 of 2" in done.stderr
    assert json.loads(head("nodes", "show", "--json").stdout)["groups"] == runs
    shown = head("nodes", "show", "--html", "nodes.html").stdout
    assert "HPL on groups of 2 nodes, GFLOPS" in shown
    assert "HPL on groups of 2 nodes, GFLOPS" in (home / "nodes.html").read_text(encoding="utf-8")
    assert left_behind(lab, home) == []


@pytest.mark.usefixtures("real_hpl")
def test_a_node_on_which_hpl_does_not_start_is_common_to_the_failed_runs(
    head: OnHead, lab: HostsLab, cluster: Path, home: Path
) -> None:
    with lab.planted("sh", FAILS_ON_H3):
        done = head(*GROUPS, "2", "--cluster", str(cluster), "--json", "--html", "nodes.html")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["out"] == ["h3"]
    assert len(told["groups"]) == 12
    assert all(run["accurate"] == ("h3" not in run["nodes"]) for run in told["groups"])
    (finding,) = found(told, "wrong-results")
    assert finding["sentence"].startswith(
        "h3 is out: it took part in 6 of 6 failed runs on groups (probability by chan"
    )
    assert "h3 must not be used" in (home / "nodes.html").read_text(encoding="utf-8")
    assert left_behind(lab, home) == []


@pytest.mark.process
@pytest.mark.usefixtures("real_hpl")
def test_a_node_that_is_lost_fails_its_run_and_the_others_go_on(lab: HostsLab, cluster: Path, home: Path) -> None:
    cluster.write_text("check_s = 3\n" + cluster.read_text().replace("0.03", "0.2"))
    command = [*lab.enter("h1"), str(HPLTUNE), *GROUPS, "2", "--cluster", str(cluster), "--repeats", "1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home) as check:
        until(lambda: list((home / "data/runs").glob(".groups-*/sorted-1-1/stdout")))
        lab.link("h4", "down")
        try:
            printed, _ = check.communicate(timeout=PATIENCE_S)
        finally:
            lab.link("h4", "up")
    told = json.loads(printed)
    assert told["out"] == ["h4"]
    (lost,) = [run for run in told["groups"] if not run["accurate"]]
    assert "h4" in lost["nodes"]
    assert [len(run["nodes"]) for run in told["groups"] if run["order"] == "shuffle"] == [2]
    assert found(told, "failed-groups") == []


@pytest.mark.process
@pytest.mark.usefixtures("real_hpl")
def test_ctrl_c_leaves_nothing_behind(lab: HostsLab, cluster: Path, home: Path) -> None:
    cluster.write_text(cluster.read_text().replace("0.03", "0.2"))
    command = [*lab.enter("h1"), str(HPLTUNE), *GROUPS, "2", "--cluster", str(cluster)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home) as check:
        until(lambda: list((home / "data/runs").glob(".groups-*/sorted-1-1/stdout")))
        check.send_signal(signal.SIGINT)
        check.communicate(timeout=PATIENCE_S)
    assert check.returncode == 130
    assert left_behind(lab, home) == []


@pytest.mark.usefixtures("real_hpl")
def test_nodes_without_the_mpi_of_this_host_are_one_sentence(
    head: OnHead, cluster: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = home / "own"
    own.mkdir()
    for name in ("mpirun", "mpicc"):
        there = subprocess.run(("sh", "-c", f"command -v {name}"), capture_output=True, text=True, check=True)
        text = MPI_OF_THE_HEAD if name == "mpirun" else '#!/bin/sh\nexec "{mpirun}" "$@"\n'
        program(own / name, text.format(mpirun=there.stdout.strip()))
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    done = head(*GROUPS, "2", "--cluster", str(cluster))
    assert done.returncode == 1
    assert "HPL does not run on groups of 2, because only 1 node of 4 can run it: node h2 has no " in done.stderr
    assert "Traceback" not in done.stderr
    assert "install the same MPI on all nodes" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--groups", "2"), "--groups 2: this machine is one node: name a cluster with --cluster FILE"),
        (("--groups", "5", "--cluster", "lab.toml"), "--groups 5: lab has only 4 nodes"),
        (("--groups", "1", "--cluster", "lab.toml"), "--groups 1: write 2 or more"),
        (("--groups", "2", "--cluster", "slurm.toml"), "slurm.toml is of Slurm, through which no groups run yet"),
        (("--groups", "2", "--facts", "--cluster", "lab.toml"), "--facts measures nothing"),
        (("--benchmark", "groups", "--cluster", "lab.toml"), "say how many nodes are in a group with --groups NODES"),
        (("--seed", "2", "--cluster", "lab.toml"), "--seed draws groups of nodes: add --groups"),
    ],
)
def test_groups_that_cannot_be_made_are_one_sentence(
    hpltune: Run, home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (home / "lab.toml").write_text('name = "lab"\nbackend = "ssh"\nhosts = ["h1", "h2", "h3", "h4"]\n')
    (home / "slurm.toml").write_text('name = "lab"\nbackend = "slurm"\n[slurm]\nnodes = 2\n')
    assert sentence in " ".join(hpltune.refused("nodes", "check", *arguments).split())
