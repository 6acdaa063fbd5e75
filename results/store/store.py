"""The store of studies and trials in one database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, delete, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import ResultsError, StudyExistsError
from ..record import Invalidity, Kind, Study, StudyNotes, StudyState, TrialRecord, TrialState
from .database import Database
from .lease import Lease
from .migrations import migrate
from .networks import NetworkRecords
from .outbox import tell_begun, tell_ended, tell_lost, tell_removed, tell_renamed, tell_state
from .reading import Reader
from .rows import json_text, object_of, output_row, study_of, study_row, trial_row
from .schema import CAMPAIGNS, NETWORK_ORIGINALS, NETWORK_PROBES, OUTPUTS, STUDIES, TRIALS
from .service.books import ServiceBooks
from .sqlite import SqliteDatabase

if TYPE_CHECKING:
    from .imports import ImportedStudies
    from .node_checks import NodeChecks

BUSY_S = 10.0
"""Seconds that a write waits for the write of another program."""
_RUNNING = TRIALS.c.state == TrialState.RUNNING.value
_SEEN_TO_END = TRIALS.c.ended_at.is_not(None) & (TRIALS.c.state != TrialState.CANCELLED.value)


class Store(Reader, ServiceBooks):
    """Studies and trials in one database.

    Each write is one transaction: it is on disk when the method returns, and if the method raises, nothing is written.
    Several processes may use one database; only processes with a lease of a study write to it. Every method raises a
    ResultsError with a sentence if the database is locked, full, read-only, damaged or gone.

    Attributes:
        place: the database's name in messages and after --db, never with a password.
    """

    @classmethod
    def open(cls, place: Path | str, *, create: bool = True, busy_s: float = BUSY_S, keep: bool = True) -> Self:
        """Open a database and bring it to the current schema, after a copy of an older one is kept beside it.

        Args:
            place: the file of a SQLite database, or the URL of a PostgreSQL database.
            create: whether to make a missing file with its folder, or missing tables on a server.
            busy_s: seconds that a write waits for the write of another program.
            keep: whether that copy is kept; not of a database that is a copy itself.

        Raises:
            ResultsError: the database is missing, not ours, newer than this program, or cannot be reached, read,
                copied or written; it is unchanged then.
        """
        database = _database(place, busy_s)
        try:
            database.check(create=create)
            migrate(database, keep=keep)
            database.settle()
        except ResultsError:
            database.close()
            raise
        return cls(database)

    @property
    def network(self) -> NetworkRecords:
        """The methods for networks."""
        return NetworkRecords(self._database)

    @property
    def imports(self) -> ImportedStudies:
        """The methods that add studies and trials which exist already."""
        from .imports import ImportedStudies  # noqa: PLC0415 - only what is read from elsewhere needs it

        return ImportedStudies(self._database)

    @property
    def node_checks(self) -> NodeChecks:
        """The methods for checks of nodes."""
        from .node_checks import NodeChecks  # noqa: PLC0415 - only checks of nodes need it

        return NodeChecks(self._database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def create_study(self, study: Study) -> None:
        """Store a new study and take its lease.

        Raises:
            StudyExistsError: the name is taken.
        """
        with self._database.writing() as connection:
            try:
                connection.execute(insert(STUDIES).values(**study_row(study), owner=str(Lease.mine())))
            except IntegrityError as error:
                raise StudyExistsError(
                    f"study {study.name} exists already: choose another ⟦study⟧, or help one that runs with ⟦join⟧, as "
                    "all tasks of a job array but the first do"
                ) from error
            tell_state(connection, study.name)

    def take(self, name: str) -> Study:
        """Make this process the only one that works on a study, and set the study's state to "running".

        Raises:
            StudyBusyError: another living process works on it.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            self._take(connection, name)
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(state="running"))
            tell_state(connection, name)
        return self.study(name)

    def join(self, name: str) -> Study:
        """Add this process to those that work on a study.

        Raises:
            ResultsError: there is no such study, or no process works on it now.
        """
        with self._database.writing() as connection:
            if not self._others(connection, self._study_row(connection, name, lock=True)):
                raise ResultsError(f"nobody works on study {name} now: go on with ⟦resume⟧")
            self._take(connection, name, join=True)
        return self.study(name)

    def set_options(self, name: str, options: Mapping[str, object]) -> None:
        """Replace the options of a study, and take its lease.

        Raises:
            StudyBusyError: another living process works on it.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            self._take(connection, name)
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(options=json_text(dict(options))))

    def note(self, name: str, change: Callable[[StudyNotes], StudyNotes]) -> StudyNotes:
        """Change the notes of a study and return them; nobody else changes them meanwhile.

        Notes that only a newer hpltune knows stay; what it keeps more within a note that this one knows is lost.

        Raises:
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            row = self._study_row(connection, name, lock=True)
            notes = change(study_of(row).notes)
            known = StudyNotes.__dataclass_fields__
            newer = {key: told for key, told in object_of(row["notes"], "notes").items() if key not in known}
            text = json_text({**newer, **notes.to_json()})
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(notes=text))
        return notes

    def end_study(self, name: str, state: StudyState) -> None:
        """Set the state of a study, unless others still work on it, and release the lease.

        Raises:
            StudyBusyError: other living processes work on it, and this one does not.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            self._take(connection, name)
            others = self._others(connection, self._study_row(connection, name))
            values = {"owner": "\n".join(map(str, others))} if others else {"owner": None, "state": state}
            connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(values))
            tell_state(connection, name)

    def delete_study(self, *names: str, campaigns: bool = True) -> None:
        """Remove studies with all their trials, all of them or none.

        Args:
            campaigns: what was handed in as a campaign is removed with its study; else it stays, to end with a reason.

        Raises:
            StudyBusyError: another living process works on one of them.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            for name in names:
                self._take(connection, name)
            connection.execute(delete(STUDIES).where(STUDIES.c.name.in_(names)))
            if campaigns:
                connection.execute(delete(CAMPAIGNS).where(CAMPAIGNS.c.name.in_(names)))
            for name in names:
                tell_removed(connection, name)
                tell_state(connection, name)

    def rename_study(self, old: str, new: str, moved: tuple[str, str] | None = None) -> None:
        """Rename a study; if this process works on it, it releases its lease.

        Args:
            moved: the old and the new folder of its runs, if they were moved.

        Raises:
            StudyBusyError: another living process works on it.
            StudyExistsError: the new name is taken.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            self._take(connection, old)
            if connection.execute(select(STUDIES.c.name).where(STUDIES.c.name == new)).first():
                raise StudyExistsError(f"study {new} exists already: choose another name")
            for table, name in ((STUDIES, "name"), (TRIALS, "study"), (OUTPUTS, "study")):
                others = [column for column in table.c if column.name != name]
                copy = select(literal(new), *others).where(table.c[name] == old)
                connection.execute(insert(table).from_select([name, *(column.name for column in others)], copy))
            connection.execute(update(STUDIES).where(STUDIES.c.name == new).values(owner=None))
            for table in (NETWORK_PROBES, NETWORK_ORIGINALS):
                connection.execute(update(table).where(table.c.study == old).values(study=new))
            if moved is not None:
                paths = {name: func.replace(TRIALS.c[name], *moved) for name in ("directory", "command")}
                connection.execute(update(TRIALS).where(TRIALS.c.study == new).values(paths))
            connection.execute(delete(STUDIES).where(STUDIES.c.name == old))
            connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.name == old).values(name=new))
            tell_renamed(connection, old, new)

    def begin(self, record: TrialRecord) -> int:
        """Commit a RUNNING trial before its launch, and return its new number.

        Args:
            record: the fields that are known before the launch; its number and state do not matter.

        Raises:
            StudyBusyError: another living process works on the study.
            ResultsError: there is no such study.
        """
        with self._database.writing() as connection:
            return self._begin(connection, record)

    def begin_first(
        self, record: TrialRecord, known: AbstractSet[int], kinds: Collection[Kind] = (), most: int | None = None
    ) -> int | None:
        """Begin a trial as `begin` does, unless another process has begun this kind of run of the configuration.

        Args:
            known: numbers of the trials that this process knows; if the configuration is among them, it is repeated on
                purpose.
            kinds: kinds of trials of which there may be `most`, not counting those whose end nobody saw. A repeated run
                counts, but is never refused.

        Returns:
            None, and nothing is stored, if there is such a trial that this process does not know, or if there are
            already `most` trials. Cancelled trials, and trials that a killed process left unfinished, do not count.

        Raises:
            StudyBusyError, ResultsError: as `begin`.
        """
        alike = (TRIALS.c.study == record.study) & (TRIALS.c.key == record.key) & (TRIALS.c.kind == record.kind.value)
        alike &= _RUNNING | _SEEN_TO_END
        with self._database.writing() as connection:
            self._take(connection, record.study)
            stored = set(connection.execute(select(TRIALS.c.number).where(alike)).scalars())
            if stored:
                refused = known.isdisjoint(stored)
            else:
                refused = most is not None and self._counted(connection, record.study, kinds) >= most
            return None if refused else self._begin(connection, record)

    @staticmethod
    def _counted(connection: Connection, study: str, kinds: Collection[Kind]) -> int:
        ours = (TRIALS.c.study == study) & TRIALS.c.kind.in_([kind.value for kind in kinds])
        kept = ours & (_RUNNING | _SEEN_TO_END)
        return connection.execute(select(func.count()).select_from(TRIALS).where(kept)).scalar_one()

    def _begin(self, connection: Connection, record: TrialRecord) -> int:
        self._take(connection, record.study)
        last = connection.execute(select(func.max(TRIALS.c.number)).where(TRIALS.c.study == record.study)).scalar()
        begun = replace(record, number=(last or 0) + 1, state=TrialState.RUNNING)
        connection.execute(insert(TRIALS).values(**trial_row(begun), owner=str(Lease.mine())))
        tell_begun(connection, record.study, begun.number)
        return begun.number

    def finish(self, record: TrialRecord) -> None:
        """Commit the outcome of a trial with its outputs.

        If the disk is full this raises and the trial stays RUNNING, so the same record can be finished later. This also
        finishes a trial of this process that others ended because the database had lost its connection.

        Raises:
            ResultsError: no such trial is RUNNING, or was RUNNING when the connection was lost.
            ValueError: the record's own state is still RUNNING.
        """
        if record.state is TrialState.RUNNING:
            raise ValueError(f"trial {record.number} of study {record.study} is finished with state {record.state}")
        here = (TRIALS.c.study == record.study) & (TRIALS.c.number == record.number)
        mine = (TRIALS.c.owner == str(Lease.mine())) & TRIALS.c.ended_at.is_(None)
        with self._database.writing() as connection:
            row = trial_row(record)
            again = connection.execute(update(TRIALS).where(here & _RUNNING).values(**row)).rowcount != 1
            if again and connection.execute(update(TRIALS).where(here & mine).values(**row)).rowcount != 1:
                raise ResultsError(
                    f"trial {record.number} of study {record.study} cannot be finished: it was not begun, or has ended"
                )
            connection.execute(insert(OUTPUTS).values(**output_row(record)))
            tell_ended(connection, record, again=again)

    def abandon_running(self, study: str, reason: str, known: AbstractSet[int] = frozenset()) -> int:
        """Take a study's lease and mark the trials that killed processes left RUNNING as failed.

        Args:
            study: its name.
            reason: the sentence for those trials.
            known: numbers of the trials that this process runs.

        Returns:
            The number of these trials; trials of other living processes are not changed.

        Raises:
            StudyBusyError: another living process works on the study, and this one has not joined it.
            ResultsError: there is no such study.
        """
        values = {"state": TrialState.FAILED.value, "invalidity": Invalidity.RUNTIME.value, "reason": reason}
        with self._database.writing() as connection:
            self._take(connection, study)
            connection.execute(update(STUDIES).where(STUDIES.c.name == study).values(state="running"))
            numbers = self._left(connection, study, known)
            left = (TRIALS.c.study == study) & TRIALS.c.number.in_(numbers)
            connection.execute(update(TRIALS).where(left & _RUNNING).values(**values))
            tell_state(connection, study)
            tell_lost(connection, study, numbers)
            return len(numbers)

    def _take(self, connection: Connection, name: str, *, join: bool = False) -> None:
        """Take a lease of a study until it is ended; within the transaction no other process can take it."""
        study = self._study_row(connection, name, lock=True)
        mine = Lease.mine()
        if str(mine) in (study["owner"] or "").splitlines():
            return
        others = self._others(connection, study, refused=not join)
        owners = "\n".join(map(str, [*others, mine]))
        connection.execute(update(STUDIES).where(STUDIES.c.name == name).values(owner=owners))


def _database(place: Path | str, busy_s: float) -> Database:
    if isinstance(place, str) and "://" in place:
        from .postgresql import PostgresqlDatabase  # noqa: PLC0415 - SQLite does not wait for what it does not need

        return PostgresqlDatabase(place, busy_s)
    return SqliteDatabase(Path(place), busy_s)
