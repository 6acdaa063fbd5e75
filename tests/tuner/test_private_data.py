"""What hpltune keeps is read and changed by its owner alone, whatever the umask."""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study

from results.store.store import Store
from tuner.service.sessions import SessionKeeper
from tuner.user_dirs import UserDirs


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022])
def test_the_users_folders_are_his_alone(mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPLTUNE_CACHE", str(tmp_path / "new/cache"))
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path / "new/data"))
    with umask(mask):
        found = UserDirs.of_user()
    assert [mode(folder) for folder in (found.cache, found.data, tmp_path / "new")] == [0o700] * 3


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022])
def test_a_new_database_and_the_files_that_sqlite_makes_beside_it_are_their_owners_alone(
    mask: int, tmp_path: Path
) -> None:
    file = tmp_path / "made/hpltune.db"
    with umask(mask), Store.open(file) as store:
        store.create_study(a_study())
        assert {path.name: mode(path) for path in file.parent.iterdir()} == {
            "hpltune.db": 0o600,
            "hpltune.db-wal": 0o600,
            "hpltune.db-shm": 0o600,
        }
    assert mode(file.parent) == 0o700


def test_a_database_that_its_owner_shares_stays_shared(tmp_path: Path) -> None:
    file = tmp_path / "hpltune.db"
    Store.open(file).close()
    file.chmod(0o660)
    with Store.open(file) as store:
        store.create_study(a_study())
        assert mode(file.with_name("hpltune.db-wal")) == 0o660
    assert mode(file) == 0o660


def test_a_database_that_cannot_be_made_is_still_a_sentence(hpltune: Run, home: Path) -> None:
    (home / "there").symlink_to(home / "no/such/folder/db")
    done = hpltune("net", "restore", "--db", "there")
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1, done.stderr


def test_the_key_of_the_service_is_its_owners_alone(tmp_path: Path) -> None:
    with umask(0):
        SessionKeeper.of_folder(tmp_path / "data")
    assert (mode(tmp_path / "data"), mode(tmp_path / "data/service.key")) == (0o700, 0o600)


def test_the_folders_of_runs_are_their_owners_alone_also_in_an_open_data_folder(
    hpltune: Run, home: Path, prints_hpl: Path
) -> None:
    (home / "data").mkdir()
    (home / "data").chmod(0o755)
    with umask(0):
        done = hpltune("tune", "--xhpl", str(prints_hpl), "--set", "N=1000", "--trials", "1", "--confirm", "0")
    assert done.returncode == 0, done.stderr
    assert mode(home / "data") == 0o755
    folders = [path for path in (home / "data/runs").rglob("*") if path.is_dir()]
    assert len(folders) >= 2
    assert {mode(path) for path in (home / "data/runs", *folders)} == {0o700}
    with closing(sqlite3.connect(home / "data/hpltune.db")) as database:
        assert database.execute("SELECT count(*) FROM studies").fetchone() == (1,)


@pytest.mark.heavy
def test_doctor_tells_once_of_folders_that_others_may_look_into_and_changes_nothing(hpltune: Run, home: Path) -> None:
    hpltune("show")
    with Store.open(home / "data/hpltune.db"):
        pass
    closed = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    assert not [sentence for sentence in closed if f"{home / 'data'}" in sentence]
    (home / "data").chmod(0o755)
    (home / "data/hpltune.db").chmod(0o644)
    advice = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    (told,) = [sentence for sentence in advice if str(home / "data") in sentence]
    assert told == (
        f"other users may look into {home}/data with mode 0755, {home}/data/hpltune.db with mode 0644: "
        f"`chmod -R go= {home}/data` keeps them out"
    )
    assert (mode(home / "data"), mode(home / "data/hpltune.db")) == (0o755, 0o644)
