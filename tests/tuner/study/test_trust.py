"""What others wrote into a database that many can write is told and not run; what one named oneself goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run, program
from record_builders import a_study, begun, finished
from replayed import replaying
from settings_builders import an_original

from results.store.store import Store
from tuner.options import TuneOptions

SMALL = ("--space", "quick", "--set", "N=400", "--set", "NB=32,48,64", "--confirm", "0")
pytestmark = pytest.mark.usefixtures("mpirun")


@pytest.fixture
def shared(home: Path) -> Path:
    """A database that everybody can write."""
    folder = home / "shared"
    folder.mkdir()
    file = folder / "hpltune.db"
    Store.open(file).close()
    folder.chmod(0o777)
    file.chmod(0o666)
    return file


@pytest.fixture
def evil(home: Path) -> Path:
    """A program that nobody named; it leaves a trace where it is run."""
    return program(home / "evil", f'#!/bin/sh\necho "$0 $*" >> {home / "ran"}\nexit 1\n')


def planted(file: Path, **options: Any) -> None:
    """Store a study with a valid trial, as a colleague could."""
    stored = TuneOptions(**options).to_json()
    with Store.open(file) as store:
        store.create_study(a_study("theirs", options=stored, space_name="quick"))
        plain = begun("theirs", params={"NB": 192, "grid": "1x2", "blas": "openblas"})
        store.finish(finished(store.begin(plain), 75.0, "theirs", params=plain.params))


def ways(file: Path, home: Path) -> list[tuple[str, ...]]:
    """Commands that take programs of a stored study."""
    db = ("--db", str(file))
    (home / "HPL.dat").write_text(str(finished(1).hpl_dat).replace("6000", "400"))
    return [
        ("tune", "--resume", "--study", "theirs", *db),
        ("run", str(home / "HPL.dat"), "--like", "theirs", *db),
        ("run", str(home / "HPL.dat"), "--like", "theirs#1", *db),
        ("check", "--baseline", "theirs", *db),
    ]


@pytest.mark.parametrize(
    "kind",
    ["program", "library", "source", "ssh", "sbatch", "wrap", "wrap of the cluster", "modules", "meter", "image"],
)
def test_what_only_a_shared_database_names_is_told_and_not_run(
    hpltune: Run, home: Path, shared: Path, evil: Path, kind: str
) -> None:
    cluster = {"name": "lab", "hosts": ["h1", "h2"]}
    named: dict[str, dict[str, Any]] = {
        "program": {"xhpl": evil},
        "library": {"blas_only": ("mine",), "blas_files": {"mine": evil}},
        "source": {"hpl_source": evil},
        "ssh": {"real_cluster": {**cluster, "ssh": [str(evil)]}},
        "wrap": {"wrap": (str(evil), "-x")},
        "wrap of the cluster": {"real_cluster": {**cluster, "wrap": [str(evil)]}},
        "modules": {"real_cluster": {**cluster, "modules": [str(evil)]}},
        "meter": {"power_command": f"{evil} --watts"},
        "image": {"container": f"charliecloud={evil}"},
        "sbatch": {"real_cluster": {**cluster, "slurm": {"nodes": 2, "further": [f"--prolog={evil}"]}}},
    }
    planted(shared, **named[kind])
    for command in ways(shared, home)[: None if kind == "program" else 1]:
        done = hpltune(*command)
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert str(evil) in done.stderr
        assert "which you have not named yourself" in done.stderr
        assert f"`hpltune study trust theirs --db {shared}` lets it run" in done.stderr
    assert not (home / "ran").exists()


def test_what_is_trusted_once_runs_until_it_is_changed(hpltune: Run, home: Path, shared: Path) -> None:
    theirs = replaying(home, name="theirs")
    planted(shared, xhpl=theirs)
    command = ("run", str(home / "HPL.dat"), "--like", "theirs", "--db", str(shared))
    ways(shared, home)
    assert hpltune(*command).returncode == 2
    asked = hpltune.well("study", "trust", "theirs", "--db", str(shared), "--yes")
    assert f"the program `{theirs}`" in asked.stdout
    assert "may run these as you" in asked.stdout
    hpltune.well(*command)
    theirs.write_text(theirs.read_text() + "# changed\n")
    assert hpltune(*command).returncode == 2
    assert (home / "data/trusted.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("where", ["space", "set", "trial"])
def test_a_variable_that_only_a_shared_database_names_reaches_no_rank(
    hpltune: Run, home: Path, shared: Path, where: str
) -> None:
    name = "env.GCONV_PATH"
    text = "[parameters]\nNB = [192]\n" + (f'{name} = ["/x"]\n' if where == "space" else "")
    stored = TuneOptions(overrides={name: ["/x"]} if where == "set" else None).to_json()
    params = {"NB": 192, "grid": "1x2", "blas": "openblas", **({name: "/x"} if where == "trial" else {})}
    with Store.open(shared) as store:
        store.create_study(a_study("theirs", options=stored, space_name="quick", space_text=text))
        plain = begun("theirs", params=params)
        store.finish(finished(store.begin(plain), 75.0, "theirs", params=params))
    for command in ways(shared, home):
        done = hpltune(*command)
        assert (done.returncode, f"ranks with the variable `{name}`" in done.stderr) == (2, True), (
            command,
            done.stderr,
        )


def test_nothing_is_asked_of_what_one_named_oneself(hpltune: Run, home: Path, shared: Path) -> None:
    mine = replaying(home, name="mine")
    db = ("--db", str(shared))
    places = ("--set", "env.OMP_PLACES=cores,threads")
    hpltune.well("tune", "--xhpl", str(mine), *SMALL, *places, "--trials", "1", "--study", "own", *db)
    hpltune.well("tune", "--resume", "--study", "own", "--trials", "2", *db)
    assert "All that study own would run, you have named yourself." in hpltune("study", "trust", "own", *db).stdout


def test_a_database_that_nobody_else_can_write_is_ones_own(hpltune: Run, home: Path) -> None:
    own = home / "own.db"
    planted(own, xhpl=replaying(home, name="mine"))
    ways(own, home)
    hpltune.well("run", str(home / "HPL.dat"), "--like", "theirs", "--db", str(own))
    assert not (home / "data/trusted.json").exists()


def test_a_new_study_does_not_put_back_what_somebody_else_changed(
    hpltune: Run, home: Path, shared: Path, evil: Path
) -> None:
    with Store.open(shared) as store:
        store.network.remember([replace(an_original("h9"), ssh=(str(evil),), study=None)])
    mine = replaying(home, name="mine")
    db = ("--db", str(shared))
    told = f"Host h9 was left changed, and would be reached by `{evil}`, which you have not named"
    done = hpltune.well("tune", "--xhpl", str(mine), *SMALL, "--trials", "1", *db)
    assert told in done.stdout
    restored = hpltune("net", "restore", *db)
    assert told in restored.stdout
    assert not (home / "ran").exists()
    assert "Forgotten: h9" in hpltune("net", "restore", "--forget", "h9", *db).stdout
