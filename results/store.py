"""The store: one SQLite database in WAL mode, and the only truth about what was measured."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, delete, event, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from .errors import ResultsError, StudyBusyError
from .lease import Lease
from .migrations import applied, migrate
from .record import Kind, Study, TrialRecord, TrialState
from .rows import output_row, study_of, study_row, trial_of, trial_row
from .schema import OUTPUTS, STUDIES, TRIALS

BUSY_S = 10.0
"""How long a write waits for another process to finish its own."""


class Store:
    """Studies and trials in one database.

    Each write is one transaction that is on disk when the method returns. Several processes may use one database;
    one study belongs to one process at a time.
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self.path = path

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Self:
        """Open a database and bring it to the current schema.

        Args:
            create: make it, with its folder, where it is missing.

        Raises:
            ResultsError: it is missing, not ours, newer than this program, or cannot be read or written.
        """
        if not create and not path.exists():
            raise ResultsError(f"there is no database {path}: `hpltune tune` makes one, or name another with --db")
        if path.is_dir():
            raise ResultsError(f"{path} is a folder, not a database: give a file with --db")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultsError(f"cannot make {path.parent} for the database: {error.strerror}") from error
        store = cls(_sqlite(path), path)
        with store._speaking():
            migrate(store._engine)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the database back."""
        self._engine.dispose()

    def create_study(self, study: Study) -> None:
        """Store a new study and take its lease.

        Raises:
            ResultsError: the name is taken.
        """
        with self._writing() as connection:
            if connection.execute(select(STUDIES.c.name).where(STUDIES.c.name == study.name)).first():
                raise ResultsError(f"study {study.name} exists already: choose another --study, or go on with --resume")
            connection.execute(insert(STUDIES).values(**study_row(study), owner=str(Lease.mine())))

    def take(self, name: str) -> Study:
        """Make this process the one that works on a study.

        Raises:
            StudyBusyError: another living process does.
            ResultsError: there is no such study.
        """
        study = self.study(name)
        with self._writing() as connection:
            owner = connection.execute(select(STUDIES.c.owner).where(STUDIES.c.name == name)).scalar()
            lease = Lease.parse(owner) if owner else None
            if lease is not None and lease.alive:
                raise StudyBusyError(f"study {name} is being run by process {lease.pid} on {lease.host}: end it first")
            values = {"owner": str(Lease.mine()), "state": "running"}
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(**values))
        return study

    def end_study(self, name: str, state: str) -> None:
        """Say how a study stands ("complete" or "interrupted") and give its lease back."""
        with self._writing() as connection:
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(state=state, owner=None))

    def study(self, name: str) -> Study:
        """One study.

        Raises:
            ResultsError: there is none of that name; the message lists those there are.
        """
        for study in self.studies():
            if study.name == name:
                return study
        names = ", ".join(study.name for study in self.studies()) or "none"
        raise ResultsError(f"there is no study {name} in {self.path} (there: {names})")

    def newest(self) -> Study:
        """The study created last.

        Raises:
            ResultsError: there is none yet.
        """
        studies = self.studies()
        if not studies:
            raise ResultsError(f"{self.path} holds no study yet: `hpltune tune` makes one")
        return studies[-1]

    def studies(self) -> Sequence[Study]:
        """All studies, oldest first."""
        with self._reading() as connection:
            rows = connection.execute(select(STUDIES).order_by(STUDIES.c.created_at)).mappings()
            return [study_of(row) for row in rows]

    def begin(self, record: TrialRecord) -> int:
        """Commit a RUNNING trial before it is launched, and return the number it got."""
        with self._writing() as connection:
            last = connection.execute(select(func.max(TRIALS.c.number)).where(TRIALS.c.study == record.study)).scalar()
            number = (last or 0) + 1
            connection.execute(insert(TRIALS).values(**trial_row(replace(record, number=number))))
        return number

    def finish(self, record: TrialRecord) -> None:
        """Commit the outcome of a trial that was begun, with what it printed."""
        row = trial_row(record)
        with self._writing() as connection:
            here = (TRIALS.c.study == record.study) & (TRIALS.c.number == record.number)
            connection.execute(update(TRIALS).where(here).values(**row))
            connection.execute(insert(OUTPUTS).values(**output_row(record)))

    def records(
        self,
        study: str,
        *,
        kinds: Collection[Kind] | None = None,
        states: Collection[TrialState] | None = None,
        outputs: bool = False,
    ) -> Sequence[TrialRecord]:
        """The trials of a study in the order they were begun.

        Args:
            kinds, states: only these; None for all.
            outputs: also what they printed.
        """
        query = select(TRIALS).where(TRIALS.c.study == study).order_by(TRIALS.c.number)
        if kinds is not None:
            query = query.where(TRIALS.c.kind.in_([kind.value for kind in kinds]))
        if states is not None:
            query = query.where(TRIALS.c.state.in_([state.value for state in states]))
        with self._reading() as connection:
            rows = connection.execute(query).mappings().all()
            if not outputs:
                return [trial_of(row) for row in rows]
            printed = connection.execute(select(OUTPUTS).where(OUTPUTS.c.study == study)).mappings()
            by_number = {row["number"]: row for row in printed}
        return [trial_of(row, by_number.get(row["number"])) for row in rows]

    def get(self, study: str, number: int) -> TrialRecord:
        """One trial with what it printed.

        Raises:
            ResultsError: the study has no trial of that number.
        """
        with self._reading() as connection:
            here = (TRIALS.c.study == study) & (TRIALS.c.number == number)
            row = connection.execute(select(TRIALS).where(here)).mappings().first()
            there = (OUTPUTS.c.study == study) & (OUTPUTS.c.number == number)
            printed = connection.execute(select(OUTPUTS).where(there)).mappings().first()
        if row is None:
            raise ResultsError(f"study {study} has no trial {number}: `hpltune show {study}` lists them")
        return trial_of(row, printed)

    def abandon_running(self, study: str, reason: str) -> int:
        """Turn trials that a killed process left RUNNING into failures; returns how many there were."""
        values: dict[str, Any] = {"state": "failed", "invalidity": "runtime", "reason": reason}
        with self._writing() as connection:
            here = (TRIALS.c.study == study) & (TRIALS.c.state == "running")
            return connection.execute(update(TRIALS).where(here).values(**values)).rowcount

    def delete_study(self, name: str) -> None:
        """Remove a study with all its trials."""
        with self._writing() as connection:
            connection.execute(delete(STUDIES).where(STUDIES.c.name == name))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._speaking(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._speaking(), self._engine.execution_options(writing=True).begin() as connection:
            yield connection

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what the database driver raises into one sentence."""
        try:
            yield
        except DBAPIError as error:
            raise ResultsError(_sentence(self.path, error)) from error


def _sqlite(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _sentence(path: Path, error: DBAPIError) -> str:
    said = str(error.orig)
    advice = {
        "locked": "another program is writing to it; end that or try again",
        "full": "the disk is full; make room, nothing that was finished is lost",
        "readonly": "it cannot be written; check its permissions and those of its folder",
        "unable to open": f"it cannot be opened; check that {path.parent} can be read and written",
        "not a database": "the file is not a SQLite database; give another with --db",
        "malformed": "the file is damaged; restore a copy, or give another with --db",
        "disk I/O": "the disk failed or is full",
    }
    for sign, sentence in advice.items():
        if sign in said:
            return f"database {path}: {sentence}"
    return f"database {path}: {said}"


def is_ours(path: Path) -> bool:
    """Whether a file is a database of hpltune; changes nothing."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    try:
        return bool(applied(create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")))
    except (DBAPIError, ResultsError):
        return False
