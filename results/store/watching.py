"""Reads what changed in studies, for those who watch them: only the rows that they do not know yet."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from hpl.output import SHORTEST_S

from ..errors import DamagedError
from ..record import SIMULATOR, SMALLER_RUNS, Study, TrialRecord, TrialState
from ..stats.ranking import LONG_ENOUGH
from .contenders import RANKED_ROW
from .database import Database
from .lease import Lease
from .rows import study_of, trial_of
from .schema import STUDIES, TRIALS

AT_A_TIME = 500
"""Rows that are read at a time."""
SPARE = 20
"""Fastest runs that are read, as some may be damaged."""
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


@dataclass(frozen=True)
class RateRow:
    """What a page needs of each of many trials.

    Attributes:
        kind: of the trial, as `record.Kind`.
        state: as `record.TrialState`.
        seen_to_end: somebody saw how it ended.
        full: it is a full run whose rate counts.
        NB, P, Q: None where it failed before it had them.
    """

    number: int
    kind: str
    state: str
    seen_to_end: bool
    cost_s: float
    gflops: float | None
    full: bool
    NB: int | None
    P: int | None
    Q: int | None


class WatchedStudies:
    """The methods of a store for those who watch studies."""

    def __init__(self, database: Database) -> None:
        self._database = database

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

    def rates(self, study: str, after: int, running: Collection[int] = ()) -> Iterator[RateRow]:
        """Yield what a page needs of the trials after one of a number, and of those of `running`, in their order."""
        columns = (TRIALS.c.number, TRIALS.c.kind, TRIALS.c.state, TRIALS.c.ended_at.is_not(None))
        figures = (func.coalesce(TRIALS.c.cost_s, 0.0), TRIALS.c.gflops, FULL_RUN, TRIALS.c.NB, TRIALS.c.P, TRIALS.c.Q)
        wanted = TRIALS.c.number > after
        if running:
            wanted |= TRIALS.c.number.in_(running)
        query = select(*columns, *figures).where((TRIALS.c.study == study) & wanted).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            for row in connection.execute(query, execution_options={"yield_per": AT_A_TIME}):
                yield RateRow(*row)

    def at_work(self) -> Sequence[tuple[Study, Sequence[Lease]]]:
        """List the studies that say they run, with the processes that work on them, also those that were killed."""
        query = select(STUDIES).where(STUDIES.c.state == "running")
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return [(study_of(row), Lease.parse_all(row["owner"])) for row in rows]

    def of_numbers(self, study: str, numbers: Collection[int]) -> Sequence[TrialRecord]:
        """Read trials of these numbers in the order of their begin."""
        query = select(TRIALS).where((TRIALS.c.study == study) & TRIALS.c.number.in_(numbers)).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            return list(_readable(connection.execute(query).mappings().all()))

    def fastest(self, study: str) -> TrialRecord | None:
        """Read the fastest full run that counts; of several that are equally fast the first, and None without any.

        One that HPL's clock cannot tell is the fastest only where there is no other, as in `headline.fastest_run`.
        """
        ours = (TRIALS.c.study == study) & FULL_RUN
        with self._database.reading() as connection:
            query = select(TRIALS).where(ours).order_by(*_fastest_first(connection, ours)).limit(SPARE)
            return next(_readable(connection.execute(query).mappings().all()), None)

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
            best = connection.execute(_best(connection, ours)).first()
        return Totals(ended, failed, machine_s or 0.0, *(best or (None, None)))


def _state(connection: Connection, study: str) -> str | None:
    found: str | None = connection.execute(select(STUDIES.c.state).where(STUDIES.c.name == study)).scalar()
    return found


def _best(connection: Connection, ours: ColumnElement[bool]) -> Select[Any]:
    runs = ours & FULL_RUN
    rate = select(TRIALS.c.gflops, TRIALS.c.number).where(runs)
    return rate.order_by(*_fastest_first(connection, runs)).limit(1)


def _fastest_first(connection: Connection, runs: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """Order full runs by their rates, behind them those of `ranking.unclear_runs`."""
    long_enough = func.avg(TRIALS.c.time_s) >= LONG_ENOUGH * SHORTEST_S
    measured = runs & ~TRIALS.c.versions.contains(f'"{SIMULATOR}"')
    sizes = select(TRIALS.c.N).where(measured).group_by(TRIALS.c.N)
    sizes = sizes.having((func.min(TRIALS.c.time_s) < SHORTEST_S) & long_enough)
    doubted = list(connection.execute(sizes).scalars())
    unclear = case(((TRIALS.c.time_s < SHORTEST_S) & TRIALS.c.N.in_(doubted), 1), else_=0)
    return [*([unclear] if doubted else []), TRIALS.c.gflops.desc(), TRIALS.c.number]


def _readable(rows: Sequence[Any]) -> Iterator[TrialRecord]:
    """Read rows without those that are damaged, of which `show` tells."""
    for row in rows:
        try:
            yield trial_of(row)
        except DamagedError:
            continue
