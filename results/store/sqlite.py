"""A database in SQLite: how it is opened, and the meaning of errors."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import ClassVar, cast
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event

from hpl.private_files import private_file, private_folder

from ..errors import ResultsError
from .database import Database
from .migrations import MIGRATIONS, applied

_MEANINGS = {
    sqlite3.SQLITE_BUSY: "another program{holders} is writing to it: end that one or try again",
    sqlite3.SQLITE_FULL: "the disk is full: make room and go on, everything finished before is kept",
    sqlite3.SQLITE_READONLY: (
        "it cannot be written: check the permissions of the file, of those beside it that end in -wal and -shm, and of "
        "its folder, or work on a copy"
    ),
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check the permissions of the file and of its folder",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database: give another with ⟦db⟧",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore a copy of it, or give another with ⟦db⟧",
    sqlite3.SQLITE_IOERR: "the disk failed or a limit on file sizes was reached: everything finished before is kept",
}
"""SQLite's primary result codes (https://www.sqlite.org/rescode.html), each with the sentence for the user."""


class SqliteDatabase(Database):
    """A database in a file."""

    read_options: ClassVar = {"reading": True}

    def __init__(self, path: Path, busy_s: float) -> None:
        super().__init__(_engine(path, busy_s), str(path))
        self._path = path
        self._busy_s = busy_s
        self._only_read = False
        self._copy: TemporaryDirectory[str] | None = None
        self._asked: sqlite3.Connection | None = None
        self._asking = Lock()

    def check(self, *, create: bool) -> None:
        """Check as the contract says; without `create` a read-only file can be read.

        Folder and file that are made are their owner's alone.
        """
        path = self._path
        if path.is_dir():
            raise ResultsError(f"{path} is a folder, not a database: give a file with ⟦db⟧")
        if path.is_file() and not create and not path.stat().st_size:
            raise ResultsError(f"{path} is an empty file, and no database: name another with ⟦db⟧")
        if path.exists():
            beside = path.resolve().parent  # where SQLite makes files to write
            if (
                not create
                and os.access(path, os.R_OK)
                and not (os.access(path, os.W_OK) and os.access(beside, os.W_OK))
            ):
                self._open_to_read()
            return
        if not create:
            raise ResultsError(f"there is no database {path}: `hpltune tune` makes one, or name another with ⟦db⟧")
        try:
            private_folder(path.parent)
        except OSError as error:
            raise ResultsError(f"cannot make {path.parent} for the database: {error.strerror}") from error
        private_file(path)  # SQLite gives the files beside it the same mode

    def _open_to_read(self) -> None:
        """Open a read-only file in a folder where SQLite cannot make its own files.

        Without a writer's log beside it the file is complete. With a log, or with an older schema, a copy of both is
        read.
        """
        self._only_read = True
        log = _log_of(self._path)
        without_log = {"immutable": "1"} if not log.exists() or not log.stat().st_size else {}
        for query in ({}, without_log):
            self.engine.dispose()
            self.engine = _engine(self._path, self._busy_s, {"mode": "ro", **query})
            with suppress(ResultsError), self.reading() as connection:
                if len(applied(connection, self.place)) == len(MIGRATIONS):
                    return
        self.engine.dispose()
        self._copy = TemporaryDirectory(prefix="hpltune-")
        copy = Path(self._copy.name) / self._path.name
        try:
            copy.write_bytes(self._path.read_bytes())
            if log.exists():
                _log_of(copy).write_bytes(log.read_bytes())
        except OSError as error:
            sentence = f"it cannot be written, and not be copied to {copy.parent} to be read ({error.strerror})"
            raise ResultsError(f"database {self.place}: {sentence}: work on a copy") from error
        self.engine = _engine(copy, self._busy_s)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run the block as the contract says."""
        if self._only_read:
            raise ResultsError(f"database {self.place}: {_MEANINGS[sqlite3.SQLITE_READONLY]}")
        with super().writing() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Run the block as the contract says, also for a copy that is only read."""
        with super().writing() as connection:
            yield connection

    def version(self) -> str:
        """Return the number of commits that one connection has seen, which makes none itself."""
        with self._asking, self.in_sentences():
            if self._asked is None:
                pooled = self.engine.raw_connection()
                self._asked = cast("sqlite3.Connection", pooled.driver_connection)
                pooled.detach()
            return str(self._asked.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close all connections, and remove the copy that was read."""
        super().close()
        with self._asking:
            if self._asked is not None:
                self._asked.close()
                self._asked = None
        if self._copy is not None:
            self._copy.cleanup()

    def keep(self, schema: int) -> str:
        """Keep a copy beside the file, with what the writer's log has; of a copy that is only read none is kept."""
        if self._copy is not None:
            return ""
        file = self._path.resolve()
        names = (f"{file.name}.schema-{schema}{again}" for again in chain([""], map(".{}".format, count(2))))
        copy = next(path for path in map(file.with_name, names) if not path.exists())
        try:
            private_file(copy)
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        except (OSError, sqlite3.Error) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error)
            with suppress(OSError):
                copy.unlink(missing_ok=True)
            raise ResultsError(
                f"database {self.place} has the older schema {schema}, and is unchanged because no copy of it can be "
                f"made first ({copy}: {reason}): make room there and the folder writable, or give a copy that you made "
                "elsewhere with ⟦db⟧"
            ) from error
        return f"the database as it was before is {copy}"

    def settle(self) -> None:
        """Let readers and one writer work at the same time (write-ahead log); the database remembers this mode.

        If the file system does not allow it, SQLite keeps its rollback journal, which is as safe. The change needs
        exclusive access but, unlike transactions, does not wait for it, so this method waits.
        """
        if self._only_read:
            return
        give_up_at = time.monotonic() + self._busy_s
        with self.in_sentences(), closing(self.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                try:
                    cursor.execute("PRAGMA journal_mode = WAL")
                    return
                except sqlite3.OperationalError as error:
                    if (
                        _code(error) not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
                        or time.monotonic() > give_up_at
                    ):
                        raise
                    time.sleep(0.01)

    def meaning(self, error: BaseException) -> str:
        """Explain an error as the contract says."""
        meaning = _MEANINGS.get(_code(error), str(error))
        return meaning.replace("{holders}", _holders(self._path)) if "{holders}" in meaning else meaning

    def lacks_room(self, error: BaseException) -> bool:
        """Return as the contract says."""
        return _code(error) in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


def _code(error: BaseException) -> int:
    """Return the primary result code of an error of SQLite; 0 of one that Python itself raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _engine(path: Path, busy_s: float, query: Mapping[str, str] | None = None) -> Engine:
    """Make the engine that connects to a file.

    Args:
        query: parameters of SQLite's URI; None for a plain path.
    """
    url = URL.create("sqlite", database=str(path))
    if query is not None:
        url = URL.create("sqlite", database=f"file:{quote(str(path.resolve()))}", query={**query, "uri": "true"})
    engine = create_engine(url, connect_args={"timeout": busy_s})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _holders(path: Path) -> str:
    """Name the other processes that have the file open, as " (process 12)"; "" if they are not known."""
    here = str(path.resolve())
    others = (process for process in Path("/proc").glob("[0-9]*") if process.name != str(os.getpid()))
    found = [f"process {process.name}" for process in others if _has_open(process, here)]
    return f" ({', '.join(found)})" if found else ""


def _has_open(process: Path, file: str) -> bool:
    try:
        return any(str(descriptor.readlink()) == file for descriptor in (process / "fd").iterdir())
    except OSError:
        return False
