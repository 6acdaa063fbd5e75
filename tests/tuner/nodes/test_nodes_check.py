import json
from pathlib import Path

import pytest
from as_user import Run

from results.store.store import Store


def test_a_sound_virtual_cluster_is_ready(hpltune: Run) -> None:
    done = hpltune("nodes", "check", "--virtual", "32")
    assert done.returncode == 0
    assert done.stdout.startswith("Ready: nothing was found that makes one of 32 nodes slow or wrong.")


@pytest.mark.heavy
def test_planted_faults_are_named_to_people_scripts_and_in_a_page(hpltune: Run, tmp_path: Path) -> None:
    page = tmp_path / "nodes.html"
    faults = ("--fault", "slow-node:node007:6", "--fault", "weak-uplink:s02:25")
    done = hpltune("nodes", "check", "--virtual", "64", *faults, "--json", "--html", str(page))
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["ready"], told["slow"]) == (False, ["node007"])
    assert {finding["what"] for finding in told["findings"]} == {"slow-node", "weak-uplink"}
    text = page.read_text(encoding="utf-8")
    assert text.index("Not ready: node007 would slow a run down") < text.index("Benchmarks")


def test_sound_nodes_that_differ_as_those_of_today_are_no_fault_and_what_they_cost_is_told(hpltune: Run) -> None:
    done = hpltune("nodes", "check", "--virtual", "64", "--spread", "3", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["ready"], told["findings"]) == (False, [])
    [waiting] = told["waiting"]
    assert waiting["slower"][0]["percent"] >= 5.0
    said = hpltune("nodes", "check", "--virtual", "64", "--spread", "3").stdout
    assert said.startswith(f"Not ready: no node is unlike the others, but HPL waits for {waiting['slower'][0]['node']}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--fault", "slow:node001"), "with a kind of slow-node, flaky-node"),
        (("--fault", "slow-node"), "write KIND:NODE[,NODE][:PERCENT]"),
        (("--fault", "slow-node:node099"), "there is no node099: nodes are node001 to node008, switches s01"),
        (("--fault", "slow-node:node001:150"), "above 0 and below 100"),
        (("--fault", "slow-node:node001:much"), "above 0 and below 100"),
    ],
)
def test_a_wrong_fault_gets_a_sentence(hpltune: Run, arguments: tuple[str, ...], sentence: str) -> None:
    done = hpltune("nodes", "check", "--virtual", "8", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_facts_of_this_machine_are_asked_without_measuring(hpltune: Run) -> None:
    done = hpltune("nodes", "check", "--facts", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["alike"] else 1)
    assert (told["nodes"], told["benchmarks"]) == (1, {})
    assert "There is one node" in told["cannot"][0]


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_the_mpi_library_itself_is_compared_and_not_only_its_version(hpltune: Run, tmp_path: Path) -> None:
    db = tmp_path / "checks.db"
    done = hpltune("nodes", "check", "--facts", "--keep", "--db", str(db))
    assert done.stderr == ""
    with Store.open(db) as store:
        kept = store.node_checks.read(1).check
    files = [name for name in kept.facts if name.startswith("file ") and "libmpi" in name]
    assert len(files) == 1
    assert kept.facts["mpi"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--fault", "slow-node:node001"), "--fault is for virtual clusters"),
        (("--spread", "2"), "--spread is for virtual clusters"),
        (("--virtual", "8", "--facts"), "--facts is for real nodes"),
        (("--cluster", "nowhere.toml"), "nowhere.toml"),
        (("--blas", "nope"), "--blas nope: this machine has"),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(hpltune: Run, arguments: tuple[str, ...], sentence: str) -> None:
    done = hpltune("nodes", "check", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
