"""What is read of a store: whole studies, or as much of a large one as somebody wants to see."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Result, RowMapping, Select, distinct, func, select, true

from ..errors import DamagedError, DamagedWarning, ResultsError, no_such_study
from ..flat import COLUMNS
from ..record import SIMULATOR, SMALLER_RUNS, Kind, Study, TrialRecord, TrialState
from .database import Database
from .lease import Lease
from .rows import CONTENDER, FLAT, Row, contender_of, object_of, row_of, study_of, trial_of
from .schema import OUTPUTS, STUDIES, TRIALS

CONTENDERS = 1000
"""Configurations of a study that are ranked; what is behind the fastest thousand decides nothing."""
AT_A_TIME = 500
"""Rows in memory where all of a study pass through."""
_SMALLER = [kind.value for kind in SMALLER_RUNS]
_RANKED = (
    (TRIALS.c.state == TrialState.COMPLETE.value)
    & (TRIALS.c.gflops > 0)
    & (TRIALS.c.passed.is_(True) | TRIALS.c.versions.contains(f'"{SIMULATOR}"'))
)
"""`TrialRecord.ranked` in SQL."""
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Tally:
    """How many trials a study has, and how many of them failed."""

    trials: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Contenders:
    """The fastest configurations of a study.

    Attributes:
        records: their full runs, with what ranks them and no more.
        configurations: how many the study has that have a rate, those that are left out included.
    """

    records: Sequence[TrialRecord]
    configurations: int


class Reader:
    """The methods of a store that only read.

    Where a row is damaged, what is asked for by its name raises DamagedError; a list leaves it out, and a
    DamagedWarning names it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place

    def study(self, name: str) -> Study:
        """One study.

        Raises:
            ResultsError: there is none of that name; the message lists those there are.
        """
        with self._database.reading() as connection:
            return study_of(self._study_row(connection, name))

    def newest(self) -> Study:
        """The study created last.

        Raises:
            ResultsError: there is none yet.
        """
        studies = self.studies()
        if not studies:
            raise ResultsError(f"{self.place} holds no study yet: `hpltune tune` makes one")
        return studies[-1]

    def studies(self) -> Sequence[Study]:
        """All studies, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(select(STUDIES).order_by(STUDIES.c.created_at, STUDIES.c.name)).mappings()
            return _readable(rows, study_of)

    def others(self, name: str) -> Sequence[Lease]:
        """The other living processes that work on a study.

        Raises:
            ResultsError: there is no such study.
        """
        with self._database.reading() as connection:
            return self._others(connection, self._study_row(connection, name))

    def tallies(self) -> dict[str, Tally]:
        """How many trials each study has that has any, by its name."""
        query = select(TRIALS.c.study, TRIALS.c.state, func.count()).group_by(TRIALS.c.study, TRIALS.c.state)
        found: dict[str, Tally] = {}
        with self._database.reading() as connection:
            for name, state, number in connection.execute(query):
                known = found.get(name, Tally())
                failed = number if state == TrialState.FAILED.value else 0
                found[name] = Tally(known.trials + number, known.failed + failed)
        return found

    def count(self, study: str, states: Collection[TrialState] | None = None) -> int:
        """How many trials of a study there are in these states, None for all."""
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
        """The trials of a study in the order they were begun.

        Args:
            study: its name.
            kinds: only these; None for all.
            states: only these; None for all.
            outputs: also `hpl_dat`, `output` and `errors_text`, which are "" otherwise.

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
        return _readable(rows, lambda row: trial_of(row, printed.get(row["number"])))

    def newest_records(
        self, study: str, count: int, before: int = 0, states: Collection[TrialState] | None = None
    ) -> Sequence[TrialRecord]:
        """As `records`, only so many of those begun last.

        Args:
            before: leave so many out that were begun after them.
        """
        query = _of(select(TRIALS), study, None, states).order_by(TRIALS.c.number.desc()).limit(count).offset(before)
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return _readable(rows[::-1], trial_of)

    def each(self, study: str) -> Iterator[TrialRecord]:
        """The trials of a study with what they printed, one after the other: only a few are in memory at a time.

        Raises:
            ResultsError: there is no such study.
        """
        there = (OUTPUTS.c.study == TRIALS.c.study) & (OUTPUTS.c.number == TRIALS.c.number)
        printed = (OUTPUTS.c.hpl_dat_zlib, OUTPUTS.c.stdout_zlib, OUTPUTS.c.stderr_zlib)
        query = select(TRIALS, *printed).outerjoin(OUTPUTS, there).where(TRIALS.c.study == study)
        with self._database.reading() as connection:
            self._study_row(connection, study)
            rows = self._passing(connection, query.order_by(TRIALS.c.number)).mappings()
            yield from _each_readable(rows, lambda row: trial_of(row, None if row["stdout_zlib"] is None else row))

    def each_flat(self, study: str) -> tuple[list[str], Iterator[Row]]:
        """The trials of a study as rows of `flat`, one after the other: only a few are in memory at a time.

        Returns:
            The names of the parameters that have no column of their own, and the rows.

        Raises:
            ResultsError: there is no such study.
        """
        names: set[str] = set()
        query = select(TRIALS.c.params).where(TRIALS.c.study == study)
        with self._database.reading() as connection:
            self._study_row(connection, study)
            for text in self._passing(connection, query).scalars():
                with suppress(ValueError):  # told where the row itself is read
                    names.update(object_of(text, "params"))
        return sorted(names - COLUMNS.keys()), self._rows(study)

    def _rows(self, study: str) -> Iterator[Row]:
        query = select(*FLAT).where(TRIALS.c.study == study).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            yield from _each_readable(self._passing(connection, query), row_of)

    @staticmethod
    def _passing(connection: Connection, query: Select[Any]) -> Result[Any]:
        return connection.execute(query, execution_options={"yield_per": AT_A_TIME})

    def contenders(self, study: str, *, of_each_size: bool = False) -> Contenders:
        """What ranks the fastest configurations of a study.

        Args:
            of_each_size: as many of each number of ranks and threads, because rates are not all that counts.
        """
        with self._database.reading() as connection:
            ours = (TRIALS.c.study == study) & TRIALS.c.kind.not_in(_SMALLER)
            ours &= self._on_the_hosts_left(connection, study)
            rated = ours & _RANKED
            keys = connection.execute(select(func.count(distinct(TRIALS.c.key))).where(rated)).scalar_one()
            if keys > CONTENDERS:
                size = (TRIALS.c.ranks, TRIALS.c.threads) if of_each_size else ()
                sizes = len(connection.execute(select(*size).where(rated).distinct()).all()) if size else 1
                order = (func.max(TRIALS.c.gflops).desc(), TRIALS.c.key)
                place = func.row_number().over(partition_by=[func.min(column) for column in size], order_by=order)
                fastest = select(TRIALS.c.key, place.label("place")).where(rated).group_by(TRIALS.c.key).subquery()
                ours &= TRIALS.c.key.in_(select(fastest.c.key).where(fastest.c.place <= CONTENDERS // max(1, sizes)))
            rows = connection.execute(select(*CONTENDER).where(ours).order_by(TRIALS.c.number)).mappings().all()
        return Contenders(_readable(rows, contender_of), keys)

    @staticmethod
    def _on_the_hosts_left(connection: Connection, study: str) -> ColumnElement[bool]:
        """Leaves out results of more or fewer hosts than the last result, as `statistics.on_the_hosts_left` does."""
        known = (TRIALS.c.study == study) & TRIALS.c.hosts.is_not(None) & (TRIALS.c.hosts != "[]")
        texts = list(connection.execute(select(TRIALS.c.hosts).where(known).distinct()).scalars())
        if len(texts) < 2:
            return true()
        last = select(TRIALS.c.hosts).where(known & _RANKED).order_by(TRIALS.c.number.desc()).limit(1)
        left = connection.execute(last).scalar() or ""
        others = [text for text in texts if text.count(",") != left.count(",")]
        unseen = TRIALS.c.hosts.is_(None) | (TRIALS.c.state != TrialState.COMPLETE.value)
        return unseen | TRIALS.c.hosts.not_in(others)

    def get(self, study: str, number: int) -> TrialRecord:
        """One trial with what it read and printed.

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
            raise ResultsError(f"study {study} has no trial {number}: `hpltune show {study}` lists them")
        return trial_of(row, printed)

    def of_the_launch(self, record: TrialRecord) -> Sequence[int]:
        """Numbers of the other trials that shared the launch of one."""
        alike = (TRIALS.c.study == record.study) & (TRIALS.c.directory == record.directory)
        query = select(TRIALS.c.number).where(alike & (TRIALS.c.number != record.number)).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars()) if record.directory else []

    def left_behind(self, study: str, known: AbstractSet[int]) -> Sequence[int]:
        """Numbers of the trials that `Store.abandon_running` would end."""
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

    def _others(self, connection: Connection, study: RowMapping) -> list[Lease]:
        held = [lease for text in (study["owner"] or "").splitlines() if (lease := Lease.parse(text)) is not None]
        return [lease for lease in held if lease != Lease.mine() and self._database.alive(connection, lease)]


def _of(
    query: Select[Any], study: str, kinds: Collection[Kind] | None, states: Collection[TrialState] | None
) -> Select[Any]:
    """Only trials of a study, of these kinds and states."""
    query = query.where(TRIALS.c.study == study)
    if kinds is not None:
        query = query.where(TRIALS.c.kind.in_([kind.value for kind in kinds]))
    if states is not None:
        query = query.where(TRIALS.c.state.in_([state.value for state in states]))
    return query


def _readable(rows: Iterable[R], read: Callable[[R], T]) -> list[T]:
    return list(_each_readable(rows, read))


def _each_readable(rows: Iterable[R], read: Callable[[R], T]) -> Iterator[T]:
    """What rows hold; of one that is damaged there is a warning instead."""
    for row in rows:
        try:
            yield read(row)
        except DamagedError as error:
            warnings.warn(f"{error}; it is left out", DamagedWarning, stacklevel=2)
