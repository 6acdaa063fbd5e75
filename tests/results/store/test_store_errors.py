"""What goes wrong with a database ends in one sentence, and everything finished before is kept."""

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from record_builders import a_study, begun, finished
from sqlalchemy import event

from results.errors import ResultsError
from results.record import TrialState
from results.store.store import Store

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a study of three finished trials."""
    path = tmp_path / "hpltune.db"
    with Store.open(path) as store:
        store.create_study(a_study())
        for _ in range(3):
            store.finish(finished(store.begin(begun())))
        store.end_study("study", "interrupted")
    return path


def finished_trials(path: Path) -> int:
    with Store.open(path, create=False) as store:
        return len(store.records("study", states=[TrialState.COMPLETE], outputs=True))


def limit_pages(store: Store, pages: int | None) -> None:
    """As if the disk held only so many more pages of the database."""

    @event.listens_for(store._database.engine, "connect")
    def _limit(connection: sqlite3.Connection, _record: object) -> None:
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + pages if pages is not None else 2**31}")

    store._database.engine.dispose()


def in_child(act: Callable[[], None]) -> None:
    """Run in a process of its own, whose limits and rights may be changed."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:  # noqa: BLE001 - the parent sees it as a failed child
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child says what was wrong above"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are closed to others than who runs it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_ordinary_user() -> None:
    """Give up root's rights, which know no permissions."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


# opening


def test_a_missing_database_is_made_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "hpltune.db"
    with pytest.raises(ResultsError, match=rf"there is no database {path}: `hpltune tune` makes one, or name another"):
        Store.open(path, create=False)
    assert not path.parent.exists()
    Store.open(path).close()
    assert path.exists()


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=rf"{tmp_path} is a folder, not a database: give a file with ⟦db⟧"):
        Store.open(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=rf"cannot make {tmp_path}/file/folder for the database: Not a directory"):
        Store.open(tmp_path / "file" / "folder" / "hpltune.db")


def test_another_file_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, but long enough to have a header of a hundred bytes " * 4)
    before = path.read_bytes()
    with pytest.raises(
        ResultsError, match=rf"database {path}: the file is not a SQLite database: give another with ⟦db⟧"
    ):
        Store.open(path)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE photos (name TEXT); INSERT INTO photos VALUES ('cat');")
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=rf"{path} is not a database of hpltune: it holds photos; give another with"):
        Store.open(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["photos.db"]


def test_an_empty_file_becomes_a_database_where_one_is_made_and_is_none_where_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hpltune.db"
    path.touch()
    with pytest.raises(ResultsError, match="is an empty file, and no database"):
        Store.open(path, create=False)
    assert path.stat().st_size == 0
    with Store.open(path) as store:
        assert store.studies() == []


def test_a_damaged_database_is_told_from_a_foreign_one(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 4] = b"\xff" * 4096 * 3
    path.write_bytes(content)
    with pytest.raises(ResultsError, match=rf"database {path}: the file is damaged: restore a copy of it"):
        finished_trials(path)


def test_many_can_make_the_same_database_at_once(place: str) -> None:
    barrier = threading.Barrier(8)

    def make(number: int) -> None:
        barrier.wait()
        with Store.open(place) as store:
            store.create_study(a_study(f"study-{number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    with Store.open(place, create=False) as store:
        assert len(store.studies()) == 8


# writing


def test_a_locked_database_says_who_holds_it(path: Path) -> None:
    started, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        os.write(started[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(started[0], 1)
    sentence = rf"database {path}: another program \(process {child}\) is writing to it: end that one or try again"
    try:
        with Store.open(path, busy_s=0.05) as store:
            with pytest.raises(ResultsError, match=sentence):
                store.begin(begun())
            assert len(store.records("study")) == 3  # readers are not kept out
            os.write(done[1], b"x")
            os.waitpid(child, 0)
            assert store.begin(begun()) == 4
    finally:
        for descriptor in (*started, *done):
            os.close(descriptor)


def test_a_write_waits_for_another_program_to_finish(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, lambda: other.execute("COMMIT")).start()
    with Store.open(path) as store:
        assert store.begin(begun()) == 4
    other.close()


def test_a_full_disk_keeps_what_was_finished_and_the_trial_can_be_finished_later(path: Path) -> None:
    with Store.open(path) as store:
        limit_pages(store, 4)
        record = finished(store.begin(begun()), output=os.urandom(200_000).hex())
        for _ in range(2):
            with pytest.raises(ResultsError, match=rf"database {path}: the disk is full: make room and go on"):
                store.finish(record)
        assert finished_trials(path) == 3
        assert store.get("study", 4).state is TrialState.RUNNING
        limit_pages(store, None)
        store.finish(record)
        assert store.get("study", 4) == record


def test_a_file_size_limit_keeps_what_was_finished(path: Path) -> None:
    def write_beyond_the_limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Store.open(path) as store:
            number = store.begin(begun())
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            record = finished(number, output=os.urandom(200_000).hex())
            with pytest.raises(
                ResultsError, match=r"database .*: the disk failed or a limit on file sizes was reached"
            ):
                store.finish(record)

    in_child(write_beyond_the_limit)
    assert finished_trials(path) == 3


def test_a_read_only_folder_is_named(open_folder: Path) -> None:
    def open_store() -> None:
        as_ordinary_user()
        with pytest.raises(
            ResultsError, match=rf"database {open_folder}/hpltune.db: it cannot be opened: check the perm"
        ):
            Store.open(open_folder / "hpltune.db")
        with pytest.raises(ResultsError, match=rf"cannot make {open_folder}/new for the database: Permission denied"):
            Store.open(open_folder / "new" / "hpltune.db")

    open_folder.chmod(0o555)
    in_child(open_store)


def test_a_read_only_database_can_be_read_and_says_that_it_cannot_be_written(path: Path, open_folder: Path) -> None:
    copy = Path(shutil.copy(path, open_folder / "hpltune.db"))

    def use() -> None:
        as_ordinary_user()
        with Store.open(copy, create=False) as store:
            with pytest.raises(ResultsError, match=rf"database {copy}: it cannot be written: check the permissions of"):
                store.begin(begun())
            assert len(store.records("study")) == 3

    copy.chmod(0o444)
    open_folder.chmod(0o777)
    in_child(use)
    assert copy.read_bytes() == path.read_bytes()


def test_a_database_in_a_read_only_folder_cannot_be_opened_and_is_unchanged(path: Path, open_folder: Path) -> None:
    copy = Path(shutil.copy(path, open_folder / "hpltune.db"))

    def open_store() -> None:
        as_ordinary_user()
        with pytest.raises(
            ResultsError, match=rf"database {copy}: it cannot be written: check the permissions of .* or"
        ):
            Store.open(copy)

    copy.chmod(0o444)
    open_folder.chmod(0o555)
    in_child(open_store)
    assert copy.read_bytes() == path.read_bytes()


def read_as_ordinary_user(copy: Path, studies: Sequence[str]) -> None:
    """Open a database, read all of it, and see that it cannot be written, nor anything be made beside it."""
    before = {file.name: file.read_bytes() for file in copy.parent.iterdir()}

    def use() -> None:
        as_ordinary_user()
        with Store.open(copy, create=False) as store:
            assert [study.name for study in store.studies()] == list(studies)
            for study in studies:
                assert store.records(study)
            with pytest.raises(ResultsError, match="it cannot be written: check the permissions of"):
                store.begin(begun(studies[0]))

    copy.chmod(0o444)
    copy.parent.chmod(0o555)
    in_child(use)
    assert {file.name: file.read_bytes() for file in copy.parent.iterdir()} == before


def test_a_database_in_a_folder_that_can_only_be_read_can_be_read(path: Path, open_folder: Path) -> None:
    read_as_ordinary_user(Path(shutil.copy(path, open_folder / "hpltune %?#.db")), ["study"])


def test_what_a_killed_writer_left_in_the_log_is_read_where_nothing_can_be_written(
    path: Path, open_folder: Path
) -> None:
    with Store.open(path) as store:
        store.create_study(a_study("later"))
        store.finish(finished(store.begin(begun("later")), study="later"))
        log = path.with_name("hpltune.db-wal")
        assert log.stat().st_size
        shutil.copy(log, open_folder)
        shutil.copy(path, open_folder)
    for file in open_folder.iterdir():
        file.chmod(0o444)
    read_as_ordinary_user(open_folder / "hpltune.db", ["later", "study"])


def test_a_database_of_an_older_schema_is_read_where_it_cannot_be_written(open_folder: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "schema-1.db"
    read_as_ordinary_user(Path(shutil.copy(old, open_folder)), ["kronos"])


def test_an_older_database_that_cannot_be_copied_is_not_migrated(open_folder: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "schema-1.db"
    copy = Path(shutil.copy(old, open_folder / "hpltune.db"))
    sentence = rf"has the older schema 1, and is unchanged because no copy of it can be made first \({copy}.schema-1: "

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (34_000, 34_000))
        with pytest.raises(ResultsError, match=sentence):
            Store.open(copy, create=False)

    def read_only() -> None:
        as_ordinary_user()
        with pytest.raises(ResultsError, match="it cannot be written: check the permissions of"):
            Store.open(copy)

    in_child(full)
    copy.chmod(0o666)
    open_folder.chmod(0o555)
    in_child(read_only)
    assert [file.name for file in open_folder.iterdir()] == ["hpltune.db"]
    assert copy.read_bytes() == old.read_bytes()


def test_a_refused_trial_leaves_no_row(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(ValueError, match="Out of range float values"):
            store.begin(replace(begun(), params={"memory_fraction": float("nan")}))
        assert len(store.records("study")) == 3
