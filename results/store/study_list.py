"""Reads lists of studies and of trials, a page at a time, and only what a list needs."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Executable, RowMapping, case, exists, func, literal, not_, select, tuple_

from ..errors import DamagedError, StoreWarning
from ..plain import time_text
from ..record import SIMULATOR, Study, StudyState, TrialRecord, TrialState
from .contenders import FULL_RUN
from .database import Database
from .lease import Lease
from .rows import json_text, study_of, trial_of
from .schema import CAMPAIGNS, STUDIES, TRIALS
from .service.campaign_entry import WAITS, LiveState

R = TypeVar("R")
T = TypeVar("T")
AT_A_TIME = 500
"""Rows in memory at a time when all rows of a study are read."""
Place = tuple[datetime, str]
"""Where a study stands in the order of time: when it was created, and its name."""


@dataclass(frozen=True)
class StudiesAsked:
    """Which studies to read; what is None takes all.

    Attributes:
        before: only those that are older than this place.
        since: only those that were created then or later.
        state: as it is stored.
        stands: how the campaign stands, with what its trials and the queue tell of it; a killed one runs here.
        space: the name of a space, or the last part of the path of its file.
        named: a part of the name, in any case of letters.
        tagged: one of its tags.
        by: who handed it in as a campaign.
        like: the name of a study: only those of a file that ran like one of its trials.
    """

    before: Place | None = None
    since: datetime | None = None
    state: StudyState | None = None
    stands: LiveState | None = None
    engine: str | None = None
    space: str | None = None
    named: str | None = None
    tagged: str | None = None
    by: str | None = None
    simulated: bool | None = None
    like: str | None = None


@dataclass(frozen=True)
class Tally:
    """The numbers of all trials and of failed trials in a study."""

    trials: int = 0
    failed: int = 0

    @property
    def all_failed(self) -> bool:
        """Whether there are trials, and each of them failed."""
        return self.trials == self.failed > 0


@dataclass(frozen=True)
class StudyExtent:
    """How far a study has come.

    Attributes:
        last: number of its last trial; 0 without one.
        open: its trials may still change: it runs, or a process holds it.
    """

    last: int
    open: bool


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


_OURS = TRIALS.c.study == STUDIES.c.name
_FAILED = TRIALS.c.state == TrialState.FAILED.value
STUDY_STANDING = case(
    (STUDIES.c.state == "running", STUDIES.c.state),
    (exists().where(_OURS & _FAILED) & ~exists().where(_OURS & ~_FAILED), "failed"),
    else_=STUDIES.c.state,
)
"""How a study stands: as it says, or failed where it has ended and every trial failed; one that runs may be killed."""
_IN_QUEUE = select(CAMPAIGNS.c.state).where(CAMPAIGNS.c.name == STUDIES.c.name).scalar_subquery()
CAMPAIGN_STANDING = case((_IN_QUEUE.in_([state.value for state in WAITS]), _IN_QUEUE), else_=STUDY_STANDING)
"""How a campaign stands: as the queue says while that tells more than its study."""
_LAST = select(func.max(TRIALS.c.number)).where(TRIALS.c.study == STUDIES.c.name).scalar_subquery().label("last")
_OPEN = ((STUDIES.c.state == "running") | STUDIES.c.owner.is_not(None)).label("open")


@dataclass(frozen=True)
class StudyLists:
    """The methods of a store for lists; they leave a damaged row out, as those of the store do."""

    database: Database

    def version(self) -> str:
        """Return a text that is another one after anything was written; it takes no time to ask for it."""
        return self.database.version()

    def at_work(self) -> Sequence[tuple[Study, Sequence[Lease]]]:
        """List the studies that say they run, with the processes that work on them, also those that were killed."""
        query = select(STUDIES).where(STUDIES.c.state == "running")
        with self.database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return [(study_of(row), Lease.parse_all(row["owner"])) for row in rows]

    def of_numbers(self, study: str, numbers: Collection[int]) -> Sequence[TrialRecord]:
        """Read trials of these numbers in the order of their begin."""
        query = select(TRIALS).where((TRIALS.c.study == study) & TRIALS.c.number.in_(numbers)).order_by(TRIALS.c.number)
        with self.database.reading() as connection:
            return list(undamaged(connection.execute(query).mappings().all()))

    def rates(self, study: str, after: int, running: Collection[int] = ()) -> Iterator[RateRow]:
        """Yield what a page needs of the trials after one of a number, and of those of `running`, in their order."""
        columns = (TRIALS.c.number, TRIALS.c.kind, TRIALS.c.state, TRIALS.c.ended_at.is_not(None))
        figures = (func.coalesce(TRIALS.c.cost_s, 0.0), TRIALS.c.gflops, FULL_RUN, TRIALS.c.NB, TRIALS.c.P, TRIALS.c.Q)
        wanted = TRIALS.c.number > after
        if running:
            wanted |= TRIALS.c.number.in_(running)
        query = select(*columns, *figures).where((TRIALS.c.study == study) & wanted).order_by(TRIALS.c.number)
        with self.database.reading() as connection:
            for row in connection.execute(query, execution_options={"yield_per": AT_A_TIME}):
                yield RateRow(*row)

    def check(self) -> None:
        """Read a row of each large table.

        Raises:
            ResultsError: the database cannot be read.
        """
        for table in (STUDIES, TRIALS):
            self._rows(select(literal(1)).select_from(table).limit(1))

    def newest_first(self, asked: StudiesAsked, at_a_time: int) -> Iterator[tuple[Study, StudyExtent]]:
        """Yield studies, each with how far it has come, newest first.

        Args:
            asked: which.
            at_a_time: how many are read from the database at a time.
        """
        query = select(STUDIES, _LAST, _OPEN).where(*_conditions(asked))
        query = query.order_by(STUDIES.c.created_at.desc(), STUDIES.c.name.desc()).limit(at_a_time)
        rows = self._rows(query)
        while rows:
            found = each_readable(rows, lambda row: (study_of(row), _extent(row)))
            for study, extent in found:  # SQL only looks for the text of notes
                like, noted = study.notes.like.rpartition("#")[0], study.notes.tags
                if asked.tagged in (None, *noted) and asked.like in (None, like):
                    yield study, extent
            ended = len(rows) < at_a_time
            rows = [] if ended else self._rows(query.where(_older(rows[-1]["created_at"], rows[-1]["name"])))

    def extent(self, study: str) -> StudyExtent:
        """Read how far a study has come; nothing of one that is not there."""
        found = self._rows(select(_LAST, _OPEN).where(STUDIES.c.name == study))
        return _extent(found[0]) if found else StudyExtent(0, open=False)

    def trials_after(self, study: str, number: int, count: int) -> Sequence[TrialRecord]:
        """Read at most `count` trials that begin after that of a number, without their outputs."""
        query = select(TRIALS).where((TRIALS.c.study == study) & (TRIALS.c.number > number))
        return readable(self._rows(query.order_by(TRIALS.c.number).limit(count)), trial_of)

    def _rows(self, query: Executable) -> Sequence[RowMapping]:
        with self.database.reading() as connection:
            return connection.execute(query).mappings().all()


def _extent(row: RowMapping) -> StudyExtent:
    return StudyExtent(row["last"] or 0, bool(row["open"]))


def _conditions(asked: StudiesAsked) -> Iterator[ColumnElement[bool]]:
    """Yield what studies must fulfil in SQL."""
    if asked.before is not None:
        yield _older(time_text(asked.before[0]), asked.before[1])
    if asked.since is not None:
        yield STUDIES.c.created_at >= time_text(asked.since)
    yield from _standing(asked)
    if asked.engine is not None:
        yield STUDIES.c.engine == asked.engine
    if asked.space is not None:
        yield (STUDIES.c.space_name == asked.space) | STUDIES.c.space_name.endswith(f"/{asked.space}", autoescape=True)
    if asked.named is not None:
        yield STUDIES.c.name.icontains(asked.named, autoescape=True)
    for noted in (one for one in (asked.tagged, asked.like) if one is not None):
        yield STUDIES.c.notes.contains(json_text(noted)[1:-1], autoescape=True)
    if asked.by is not None:
        yield exists().where((CAMPAIGNS.c.name == STUDIES.c.name) & (CAMPAIGNS.c.handed_in_by == asked.by))
    if asked.simulated is not None:
        has = STUDIES.c.versions.contains(f'"{SIMULATOR}"')
        yield has if asked.simulated else not_(has)


def _standing(asked: StudiesAsked) -> Iterator[ColumnElement[bool]]:
    if asked.state is not None:
        yield STUDIES.c.state == asked.state
    if asked.stands is not None:
        yield CAMPAIGN_STANDING.in_(["running" if asked.stands == "killed" else asked.stands])


def _older(created_at: str, name: str) -> ColumnElement[bool]:
    """Return the condition that a study is older than a place."""
    return tuple_(STUDIES.c.created_at, STUDIES.c.name) < tuple_(literal(created_at), literal(name))


def readable(rows: Iterable[R], read: Callable[[R], T]) -> list[T]:
    """Read rows; a damaged row gives a warning instead."""
    return list(each_readable(rows, read))


def each_readable(rows: Iterable[R], read: Callable[[R], T]) -> Iterator[T]:
    """Read rows; a damaged row gives a warning instead."""
    for row in rows:
        try:
            yield read(row)
        except DamagedError as error:
            warnings.warn(f"{error}; it is left out", StoreWarning, stacklevel=2)


def undamaged(rows: Iterable[RowMapping]) -> Iterator[TrialRecord]:
    """Read trials without those that are damaged, of which `show` tells."""
    for row in rows:
        with suppress(DamagedError):
            yield trial_of(row)
