"""Reads studies and trials from a store, whole or in parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

from sqlalchemy import (
    Connection,
    Result,
    RowMapping,
    Select,
    func,
    select,
)

from ..columns import COLUMNS
from ..errors import ResultsError, StudyBusyError, UnknownTrialError, no_such_study
from ..record import Kind, Study, TrialRecord, TrialState
from .contenders import FULL_RUN, Contenders, fastest_rows, fastest_rows_of
from .database import Database
from .lease import Lease
from .rows import Row, object_of, row_of, study_of, trial_of
from .schema import OUTPUTS, STUDIES, TRIALS
from .study_list import AT_A_TIME, StudyLists, Tally, each_readable, readable, undamaged


class Reader:
    """The methods of a store that only read.

    A method that asks for one row by its name raises DamagedError if the row is damaged. A list leaves a damaged row
    out, and a StoreWarning names it.

    Attributes:
        lists: the methods for lists of studies and trials, a page at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place
        self.lists = StudyLists(database)

    def study(self, name: str) -> Study:
        """Read a study.

        Raises:
            ResultsError: there is no such study; the message lists the existing ones.
        """
        with self._database.reading() as connection:
            return study_of(self._study_row(connection, name))

    def newest(self) -> Study:
        """Read the study that was created last, one of a lesson only where there are no others.

        Raises:
            ResultsError: there is no study yet.
        """
        studies = self.studies()
        if not studies:
            raise ResultsError(f"{self.place} holds no study yet: `hpltune tune` makes one")
        return next((study for study in reversed(studies) if not study.notes.lesson), studies[-1])

    def studies(self) -> Sequence[Study]:
        """List all studies, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(select(STUDIES).order_by(STUDIES.c.created_at, STUDIES.c.name)).mappings()
            return readable(rows, study_of)

    def others(self, name: str, *, refused: bool = False) -> Sequence[Lease]:
        """List the other living processes that work on a study.

        Args:
            refused: there may be none.

        Raises:
            StudyBusyError: there is one that may not be.
            ResultsError: there is no such study.
        """
        with self._database.reading() as connection:
            return self._others(connection, self._study_row(connection, name), refused=refused)

    def tallies(self, study: str | None = None) -> dict[str, Tally]:
        """Count the trials of each study that has any, or of one, by its name."""
        failed = func.count().filter(TRIALS.c.state == TrialState.FAILED.value)
        query = select(TRIALS.c.study, func.count(), failed).group_by(TRIALS.c.study)
        with self._database.reading() as connection:
            rows = connection.execute(query if study is None else query.where(TRIALS.c.study == study))
            return {name: Tally(trials, failures) for name, trials, failures in rows}

    def count(self, study: str, states: Collection[TrialState] | None = None) -> int:
        """Count the trials of a study in these states; None counts all."""
        with self._database.reading() as connection:
            query = _of(select(func.count()).select_from(TRIALS), study, None, states)
            return int(connection.execute(query).scalar_one())

    def records(
        self,
        study: str,
        *,
        kinds: Collection[Kind] | None = None,
        states: Collection[TrialState] | None = None,
        outputs: bool = False,
    ) -> Sequence[TrialRecord]:
        """Read the trials of a study in the order of their begin.

        Args:
            study: its name.
            kinds: only trials of these kinds; None for all.
            states: only trials in these states; None for all.
            outputs: whether to read `hpl_dat`, `output` and `errors_text`, which are "" otherwise.

        Raises:
            ResultsError: there is no such study.
        """
        query = _of(select(TRIALS), study, kinds, states).order_by(TRIALS.c.number)
        printed: dict[int, RowMapping] = {}
        with self._database.reading() as connection:
            self._study_row(connection, study)
            rows = connection.execute(query).mappings().all()
            if outputs:
                found = connection.execute(select(OUTPUTS).where(OUTPUTS.c.study == study)).mappings()
                printed = {row["number"]: row for row in found}
        return readable(rows, lambda row: trial_of(row, printed.get(row["number"])))

    def newest_records(
        self, study: str, count: int, before: int = 0, states: Collection[TrialState] | None = None
    ) -> Sequence[TrialRecord]:
        """Read the last `count` trials as `records` does.

        Args:
            before: how many later trials to skip.
        """
        query = _of(select(TRIALS), study, None, states).order_by(TRIALS.c.number.desc()).limit(count).offset(before)
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return readable(rows[::-1], trial_of)

    def fastest(self, study: str) -> TrialRecord | None:
        """Read the fastest full run that counts; of several that are equally fast the first, and None without any.

        One that HPL's clock cannot tell, and one that was disturbed, is the fastest only where there is no other, as in
        `headline.fastest_run`.
        """
        ours = (TRIALS.c.study == study) & FULL_RUN
        with self._database.reading() as connection:
            return next(undamaged(fastest_rows_of(connection, select(TRIALS), ours)), None)

    def each(self, study: str) -> Iterator[TrialRecord]:
        """Yield the trials of a study with their outputs; only a few are in memory at a time.

        Raises:
            ResultsError: there is no such study.
        """
        there = (OUTPUTS.c.study == TRIALS.c.study) & (OUTPUTS.c.number == TRIALS.c.number)
        printed = (OUTPUTS.c.hpl_dat_zlib, OUTPUTS.c.stdout_zlib, OUTPUTS.c.stderr_zlib)
        query = select(TRIALS, *printed).outerjoin(OUTPUTS, there).where(TRIALS.c.study == study)
        with self._database.reading() as connection:
            self._study_row(connection, study)
            rows = _passing(connection, query.order_by(TRIALS.c.number)).mappings()
            yield from each_readable(rows, lambda row: trial_of(row, None if row["stdout_zlib"] is None else row))

    def each_flat(self, study: str) -> tuple[list[str], Iterator[Row]]:
        """Return the trials of a study as a stream of rows of `flat`; only a few are in memory at a time.

        Returns:
            The names of the parameters without a column in `flat`, and the rows.

        Raises:
            ResultsError: there is no such study.
        """
        names: set[str] = set()
        query = select(TRIALS.c.params).where(TRIALS.c.study == study)
        with self._database.reading() as connection:
            self._study_row(connection, study)
            for text in _passing(connection, query).scalars():
                with suppress(ValueError):  # reported when the row itself is read
                    names.update(object_of(text, "params"))
        return sorted(names - COLUMNS.keys()), self._rows(study)

    def _rows(self, study: str) -> Iterator[Row]:
        query = select(TRIALS).where(TRIALS.c.study == study).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            yield from each_readable(_passing(connection, query), row_of)

    def contenders(self, study: str, *, of_each_size: bool = False) -> Contenders:
        """Read the fastest configurations of a study, for a ranking.

        Args:
            of_each_size: whether to read as many for each number of ranks and threads, for objectives besides the rate.
        """
        with self._database.reading() as connection:
            rows, configurations = fastest_rows(connection, study, of_each_size=of_each_size)
        return Contenders(readable(rows, trial_of), configurations)

    def get(self, study: str, number: int) -> TrialRecord:
        """Read a trial with its HPL.dat and outputs.

        Raises:
            ResultsError: there is no such study, or it has no trial of that number.
        """
        with self._database.reading() as connection:
            self._study_row(connection, study)
            here = (TRIALS.c.study == study) & (TRIALS.c.number == number)
            row = connection.execute(select(TRIALS).where(here)).mappings().first()
            there = (OUTPUTS.c.study == study) & (OUTPUTS.c.number == number)
            printed = connection.execute(select(OUTPUTS).where(there)).mappings().first()
        if row is None:
            raise UnknownTrialError(f"study {study} has no trial {number}: `hpltune show {study}` lists them")
        return trial_of(row, printed)

    def of_the_launch(self, record: TrialRecord) -> Sequence[int]:
        """List the numbers of the other trials in the same launch."""
        alike = (TRIALS.c.study == record.study) & (TRIALS.c.directory == record.directory)
        query = select(TRIALS.c.number).where(alike & (TRIALS.c.number != record.number)).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars()) if record.directory else []

    def left_behind(self, study: str, known: AbstractSet[int]) -> Sequence[int]:
        """List the numbers of the trials that `Store.abandon_running` would end."""
        with self._database.reading() as connection:
            return self._left(connection, study, known)

    def _left(self, connection: Connection, study: str, known: AbstractSet[int]) -> list[int]:
        living = {str(lease) for lease in self._others(connection, self._study_row(connection, study))}
        here = (TRIALS.c.study == study) & (TRIALS.c.state == TrialState.RUNNING.value)
        found = connection.execute(select(TRIALS.c.number, TRIALS.c.owner).where(here))
        running = [(number, owner) for number, owner in found if number not in known]
        return [number for number, owner in running if (owner not in living if owner else not living)]

    def _study_row(self, connection: Connection, name: str, *, lock: bool = False) -> RowMapping:
        query = select(STUDIES).where(STUDIES.c.name == name)
        row = connection.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            names = connection.execute(select(STUDIES.c.name).order_by(STUDIES.c.created_at)).scalars()
            raise no_such_study(name, self.place, list(names))
        return row

    def _others(self, connection: Connection, study: RowMapping, *, refused: bool = False) -> list[Lease]:
        held = Lease.parse_all(study["owner"])
        others = [lease for lease in held if lease != Lease.mine() and self._database.alive(connection, lease)]
        if others and refused:
            raise StudyBusyError(
                f"study {study['name']} is being run by process {others[0].pid} on {others[0].host}: "
                "wait for it or end it there, help it from other nodes with ⟦join⟧, or choose another ⟦study⟧"
                f"{'' if others[0].of_this_host else self._database.lost_host}"
            )
        return others


def _of(
    query: Select[Any], study: str, kinds: Collection[Kind] | None, states: Collection[TrialState] | None
) -> Select[Any]:
    """Restrict a query to trials of a study, of these kinds and states."""
    query = query.where(TRIALS.c.study == study)
    if kinds is not None:
        query = query.where(TRIALS.c.kind.in_([kind.value for kind in kinds]))
    if states is not None:
        query = query.where(TRIALS.c.state.in_([state.value for state in states]))
    return query


def _passing(connection: Connection, query: Select[Any]) -> Result[Any]:
    """Run a query whose rows are in memory a few at a time."""
    return connection.execute(query, execution_options={"yield_per": AT_A_TIME})
