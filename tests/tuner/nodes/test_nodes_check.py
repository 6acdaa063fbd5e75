import json
from pathlib import Path

import pytest
from as_user import Run

from results.store.store import Store


def test_facts_of_this_machine_are_asked_without_measuring(hpltune: Run) -> None:
    done = hpltune("nodes", "check", "--facts", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["alike"] else 1)
    assert (told["nodes"], told["benchmarks"]) == (1, {})
    assert "There is one node" in told["cannot"][0]


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
        (("--seed", "1"), "--seed draws groups of nodes: add --groups NODES, or leave it out"),
        (("--facts", "--groups", "2"), "--facts measures nothing"),
        (("--cluster", "nowhere.toml"), "nowhere.toml"),
        (("--blas", "nope"), "--blas nope: this machine has"),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(hpltune: Run, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in hpltune.refused("nodes", "check", *arguments)
