"""A batch system that is one class and one line in the registry: `hpltune` needs no other change for it."""

import json
from pathlib import Path

import pytest
from as_user import Run
from stand_in_batch import install, under_way

pytestmark = pytest.mark.usefixtures("prints_hpl")
FAST = ("--xhpl", "xhpl", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--engine", "random")
ONE = ("--trials", "1", "--confirm", "0", "--budget", "10m", "--study", "mine")


@pytest.fixture
def queue(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(home / "queue", monkeypatch)
    return home / "queue"


@pytest.fixture
def cluster(home: Path, queue: Path) -> str:
    del queue
    file = home / "cluster.toml"
    file.write_text('name = "lab"\nbackend = "stand-in"\n[node]\ncores = 1\nmemory_gib = 1\n[stand-in]\nnodes = 1\n')
    return str(file)


@pytest.mark.parametrize("reuse", ["true", "false"])
def test_a_study_runs_on_its_nodes_and_gives_them_back(hpltune: Run, cluster: str, queue: Path, reuse: str) -> None:
    with Path(cluster).open("a") as file:
        file.write(f"reuse = {reuse}\ntime_limit_s = 3600\n")
    done = hpltune.well("tune", "--cluster", cluster, *FAST, *ONE)
    assert "Nodes from Stand-in: 1 with 1 core and 1" in done.stdout
    trials = hpltune.told("show", "mine")
    assert [trial["state"] for trial in trials if trial["kind"] == "search"] == ["complete"]
    jobs = [file.parent.name for file in queue.glob("*/state")]
    assert (len(jobs) == 1) is (reuse == "true"), "one allocation for all trials, or a job for each"
    assert under_way(queue) == []
    assert (queue.parent / "data" / "stand-in").is_dir(), "its spools lie in a folder of their own"


def test_its_nodes_are_told_and_checked(hpltune: Run, cluster: str, queue: Path) -> None:
    told = json.loads(hpltune("doctor", "--cluster", cluster, "--json").stdout)
    assert [node["name"] for node in told["nodes"]] == ["s1", "s2"]
    assert (told["queues"], told["launcher"]) == ([{"name": "all", "up": True, "max_time_s": None}], "mpirun")
    checked = hpltune("nodes", "check", "--cluster", cluster, "--facts", "--json")
    assert json.loads(checked.stdout)["nodes"] == 2, checked.stdout + checked.stderr
    assert under_way(queue) == []


def test_a_mistake_about_it_is_one_sentence_in_its_words(hpltune: Run, cluster: str, queue: Path) -> None:
    text = Path(cluster).read_text()
    for changed, words in (
        (text.replace("nodes = 1", "nodes = 3"), "Stand-in: 3 nodes are asked, but Stand-in has 2 that can run jobs"),
        (text.replace("nodes = 1", "nods = 1"), "stand-in.nodes is missing"),
        (text.replace('"stand-in"', '"slurm"'), 'backend "stand-in" and a table [stand-in] with nodes = …'),
        (text.replace('"stand-in"', '"sge"'), "backend = sge: should be 'ssh', 'slurm', 'pbs'"),
    ):
        Path(cluster).write_text(changed)
        said = hpltune("tune", "--cluster", cluster, *FAST, *ONE).stderr
        assert words in said
        assert said.count("\n") == 1
    assert not list(queue.glob("*/state"))
