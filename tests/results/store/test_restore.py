"""A copy of a database that was made as docs/database.md says is restored as it says, and nothing is missing."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from postgresql_server import Server
from record_builders import a_study, begun, finished

from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store


def fill(store: Store) -> None:
    """Store a campaign with a trial."""
    store.queue.add(CampaignOrder("night", "tune", {"kind": "tune"}, ("here",), "ada", 0))
    store.create_study(a_study("night"))
    store.finish(finished(store.begin(begun("night")), 71.5, study="night"))


def is_whole(store: Store) -> bool:
    """Whether all that was stored is there, and a campaign can be handed in."""
    store.queue.add(CampaignOrder("later", "tune", {"kind": "tune"}, ("here",), "ada", 0))
    return store.queue.find("night") is not None and [one.gflops for one in store.records("night")] == [71.5]


def test_a_copy_of_a_file_takes_its_place(tmp_path: Path) -> None:
    """The copy is what .backup of sqlite3 makes, while hpltune has the database open."""
    place, copy = tmp_path / "hpltune.db", tmp_path / "copy.db"
    with Store.open(place) as store:
        fill(store)
        with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        store.create_study(a_study("afterwards"))
    for end in ("", "-wal", "-shm"):
        place.with_name(f"{place.name}{end}").unlink(missing_ok=True)
    copy.rename(place)
    with Store.open(place) as store:
        assert is_whole(store)
        assert not store.queue.is_study("afterwards")


def test_a_dump_of_a_server_is_restored_into_a_new_database(server: Server, tmp_path: Path) -> None:
    before, after, dump = server.new_database(), server.new_database(), tmp_path / "hpl.dump"
    with Store.open(before) as store:
        fill(store)
        subprocess.run([server._programs / "pg_dump", "--format", "custom", "--file", dump, before], check=True)
        store.create_study(a_study("afterwards"))
    into = ["--no-owner", "--exit-on-error", "--dbname", after]
    subprocess.run([server._programs / "pg_restore", *into, dump], check=True)
    with Store.open(after) as store:
        assert is_whole(store)
        assert not store.queue.is_study("afterwards")
