"""Reads what changed in studies, for those who watch them: only the rows that they do not know yet."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from ..errors import DamagedError
from ..record import SMALLER_RUNS, TrialRecord, TrialState
from .contenders import RANKED_ROW
from .database import Database
from .rows import trial_of
from .schema import STUDIES, TRIALS

AT_A_TIME = 500
"""Rows that are read at a time."""
_SMALLER = [kind.value for kind in SMALLER_RUNS]
FULL_RUN = RANKED_ROW & TRIALS.c.kind.not_in(_SMALLER)
"""A full run whose rate counts."""


@dataclass(frozen=True)
class StudyNow:
    """How a study stands at one moment.

    Attributes:
        state: None where there is no such study any more.
        last: number of its newest trial; 0 without one.
        running: numbers of the trials that run.
    """

    state: str | None
    last: int = 0
    running: frozenset[int] = frozenset()


@dataclass(frozen=True)
class StudyNews:
    """What is new in a study since a moment.

    Attributes:
        state: None where there is no such study any more.
        numbers: of all trials that were looked at, also of damaged ones, which have no record.
        records: those trials in the order of their begin.
        more: whether further ones are to be read.
    """

    state: str | None
    numbers: Sequence[int]
    records: Sequence[TrialRecord]
    more: bool


@dataclass(frozen=True)
class Totals:
    """What the trials of a study that have ended amount to.

    Attributes:
        machine_s: seconds that they took.
        best_gflops: of the fastest full run that counts; None without one.
        best_trial: its number.
    """

    ended: int = 0
    failed: int = 0
    machine_s: float = 0.0
    best_gflops: float | None = None
    best_trial: int | None = None

    def plus(self, record: TrialRecord) -> "Totals":
        """Add a trial that has ended."""
        best = self.best_gflops, self.best_trial
        gflops = record.gflops if record.ranked and record.kind not in SMALLER_RUNS else None
        if gflops is not None and (best[0] is None or (-gflops, record.number) < (-best[0], best[1] or 0)):
            best = gflops, record.number
        failed = self.failed + (record.state is TrialState.FAILED)
        return Totals(self.ended + 1, failed, self.machine_s + (record.cost_s or 0.0), *best)


class WatchedStudies:
    """The methods of a store for those who watch studies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changes(self) -> AbstractContextManager[Callable[[], object]]:
        """Give a function whose answer differs once others have changed the database; only one thread may call it."""
        return self._database.changes()

    def now(self, study: str) -> StudyNow:
        """Read how a study stands."""
        ours = TRIALS.c.study == study
        with self._database.reading() as connection:
            state = _state(connection, study)
            last = connection.execute(select(func.max(TRIALS.c.number)).where(ours)).scalar()
            running = select(TRIALS.c.number).where(ours & (TRIALS.c.state == TrialState.RUNNING.value))
            return StudyNow(state, last or 0, frozenset(connection.execute(running).scalars()))

    def news(
        self, study: str, after: int, running: Collection[int] = (), last: int | None = None, most: int = AT_A_TIME
    ) -> StudyNews:
        """Read the trials after one of a number, and those of `running` that run no more.

        Args:
            last: number of the last trial to read; None for all.
            most: how many trials after that number are read at a time.
        """
        ours = TRIALS.c.study == study
        later = ours & (TRIALS.c.number > after)
        if last is not None:
            later &= TRIALS.c.number <= last
        ended = ours & TRIALS.c.number.in_(running) & (TRIALS.c.state != TrialState.RUNNING.value)
        with self._database.reading() as connection:
            state = _state(connection, study)
            rows = connection.execute(select(TRIALS).where(ended)).mappings().all() if running else []
            query = select(TRIALS).where(later).order_by(TRIALS.c.number).limit(most + 1)
            new = connection.execute(query).mappings().all()
        kept = [*rows, *new[:most]]
        return StudyNews(state, [row["number"] for row in kept], list(_readable(kept)), len(new) > most)

    def totals(self, study: str, last: int, but: Collection[int] = ()) -> Totals:
        """Add up the trials up to one of a number.

        Args:
            but: numbers of those that do not count.
        """
        ours = (TRIALS.c.study == study) & (TRIALS.c.number <= last)
        if but:
            ours &= TRIALS.c.number.not_in(but)
        failures = func.count().filter(TRIALS.c.state == TrialState.FAILED.value)
        sums = select(func.count(), failures, func.sum(TRIALS.c.cost_s)).select_from(TRIALS)
        with self._database.reading() as connection:
            ended, failed, machine_s = connection.execute(sums.where(ours)).one()
            best = connection.execute(_best(ours)).first()
        return Totals(ended, failed, machine_s or 0.0, *(best or (None, None)))


def _state(connection: Connection, study: str) -> str | None:
    found: str | None = connection.execute(select(STUDIES.c.state).where(STUDIES.c.name == study)).scalar()
    return found


def _best(ours: ColumnElement[bool]) -> Select[Any]:
    rate = select(TRIALS.c.gflops, TRIALS.c.number).where(ours & FULL_RUN)
    return rate.order_by(TRIALS.c.gflops.desc(), TRIALS.c.number).limit(1)


def _readable(rows: Sequence[Any]) -> Iterator[TrialRecord]:
    """Read rows without those that are damaged, of which `show` tells."""
    for row in rows:
        try:
            yield trial_of(row)
        except DamagedError:
            continue
