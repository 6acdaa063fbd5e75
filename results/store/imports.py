"""Adds studies and trials that exist already: those of HPL's outputs, and those of another database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import IntegrityError

from ..errors import StudyExistsError
from ..printed_run import PrintedRun
from ..record import Kind, Study, TrialRecord, TrialState
from .database import Database
from .outbox import tell_state
from .rows import output_row, study_row, trial_of, trial_row
from .schema import NETWORK_PROBES, OUTPUTS, STUDIES, TRIALS

AT_A_TIME = 200
"""Rows in memory at a time when a study is copied."""


@dataclass(frozen=True)
class ImportedStudies:
    """The methods of a store that add what exists already; each is one transaction."""

    database: Database

    def add(self, study: Study, records: Sequence[TrialRecord]) -> None:
        """Store a new study with all its trials, numbered from 1.

        Raises:
            StudyExistsError: the name is taken.
        """
        with self.database.writing() as connection:
            try:
                connection.execute(insert(STUDIES).values(**study_row(study), owner=None))
            except IntegrityError as error:
                raise StudyExistsError(f"study {study.name} exists already: choose another name") from error
            _append(connection, study.name, records)
            tell_state(connection, study.name, anew=True)

    def append(self, name: str, records: Sequence[TrialRecord]) -> None:
        """Add trials to a study, numbered behind those that it has."""
        with self.database.writing() as connection:
            _append(connection, name, records)
            tell_state(connection, name, anew=True)

    def known_runs(self) -> Mapping[str, Sequence[PrintedRun]]:
        """Return the runs of outputs that are stored, by the name of the study that has them."""
        query = select(TRIALS).where(TRIALS.c.kind == Kind.IMPORTED.value).order_by(TRIALS.c.study, TRIALS.c.number)
        found: dict[str, list[PrintedRun]] = {}
        with self.database.reading() as connection:
            for row in connection.execute(query).mappings():
                found.setdefault(row["study"], []).append(PrintedRun.of(trial_of(row)))
        return found

    def digests(self) -> dict[str, str]:
        """Return the digest of the content of each study with its name; studies that are alike share it."""
        with self.database.reading() as connection:
            names = (
                connection.execute(select(STUDIES.c.name).order_by(STUDIES.c.created_at, STUDIES.c.name))
                .scalars()
                .all()
            )
            return {_digest(connection, name): name for name in names}

    def copy_to(self, target: ImportedStudies, name: str, new_name: str) -> int:
        """Copy a study with its trials, outputs and network probes into another store.

        Nobody works on the copy: a study that was running is interrupted there, and a trial that was running failed.

        Returns:
            The number of its trials.

        Raises:
            StudyExistsError: the new name is taken.
        """
        with self.database.reading() as source, target.database.writing() as connection:
            study = dict(source.execute(select(STUDIES).where(STUDIES.c.name == name)).mappings().one())
            study.update(name=new_name, owner=None)
            if study["state"] == "running":
                study["state"] = "interrupted"
            try:
                connection.execute(insert(STUDIES).values(study))
            except IntegrityError as error:
                raise StudyExistsError(f"study {new_name} exists already: choose another name") from error
            trials = 0
            for rows in _parts(source, TRIALS, name):
                connection.execute(insert(TRIALS), [_ended({**row, "study": new_name}) for row in rows])
                trials += len(rows)
            for rows in _parts(source, OUTPUTS, name):
                connection.execute(insert(OUTPUTS), [{**row, "study": new_name} for row in rows])
            probes = [row for rows in _parts(source, NETWORK_PROBES, name) for row in rows]
            last = connection.execute(select(func.max(NETWORK_PROBES.c.number))).scalar() or 0
            for number, row in enumerate(probes, start=last + 1):
                connection.execute(insert(NETWORK_PROBES).values({**row, "study": new_name, "number": number}))
            tell_state(connection, new_name, anew=True)
            return trials


def _append(connection: Connection, name: str, records: Sequence[TrialRecord]) -> None:
    last = connection.execute(select(func.max(TRIALS.c.number)).where(TRIALS.c.study == name)).scalar() or 0
    for number, record in enumerate(records, start=last + 1):
        numbered = replace(record, study=name, number=number)
        connection.execute(insert(TRIALS).values(**trial_row(numbered), owner=None))
        connection.execute(insert(OUTPUTS).values(**output_row(numbered)))


def _parts(connection: Connection, table: Table, study: str) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the rows of a study, some at a time, in the order of their numbers."""
    query = select(table).where(table.c.study == study).order_by(table.c.number)
    found = connection.execute(query, execution_options={"yield_per": AT_A_TIME}).mappings()
    for rows in found.partitions():
        yield [dict(row) for row in rows]


def _ended(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a trial that nobody runs."""
    row["owner"] = None
    if row["state"] != TrialState.RUNNING.value:
        return row
    reason = "it was running when its database was imported"
    return {**row, "state": TrialState.FAILED.value, "invalidity": "runtime", "reason": reason}


def _digest(connection: Connection, name: str) -> str:
    """Compute a digest of a study's content but for its name, and for what an import changes."""
    kept = [column for column in STUDIES.c if column.name not in {"name", "owner", "state"}]
    whole = hashlib.sha256(repr(tuple(connection.execute(select(*kept).where(STUDIES.c.name == name)).one())).encode())
    changed = {"study", "owner", "state", "invalidity", "reason"}
    columns = [column for column in TRIALS.c if column.name not in changed]
    query = select(*columns).where(TRIALS.c.study == name).order_by(TRIALS.c.number)
    for row in connection.execute(query, execution_options={"yield_per": AT_A_TIME}):
        whole.update(repr(tuple(row)).encode())
    return whole.hexdigest()
