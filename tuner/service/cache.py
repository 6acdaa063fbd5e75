"""What the service has computed, kept until what it tells of changes."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread
from cachetools import LRUCache
from fastapi import Request
from pydantic import BaseModel

from results.record import Study
from results.stats.headline import HeadlineRates
from results.store.store import Store
from results.store.study_list import StudyExtent, Tally

from ..commands.stored.show import rates_of, state
from ..reports.lists import StudyLine
from ..study.occasions import followers
from .pages.campaign.digest import CampaignTotals

T = TypeVar("T")
READERS = 4
"""Threads that read the database; with 20 the slowest of 100 answers took twice as long."""
LINES = 5_000
"""Studies whose figures are kept."""
ADDED_UP = 64
"""Studies whose trials are added up and kept; of another one they are all read again."""
BYTES = 32_000_000
"""Of all answers that are kept."""
ALIVE_S = 1.0
"""Seconds after which it is looked again whether the processes of studies live, which no database tells."""


@dataclass(frozen=True)
class _Entry(Generic[T]):
    stamp: object
    turn: int
    value: T


@dataclass(frozen=True)
class _Computation(Generic[T]):
    stamp: object
    turn: int
    result: "Future[T]" = field(default_factory=Future)


class StampedCache(Generic[T]):
    """Values by their keys, from any thread; those that were asked for longest ago go first.

    A stamp says what a value is computed from: another stamp, another value. So nobody is told less than what was there
    when they asked. While a value is computed, those who ask with another stamp wait for it, and one of them computes
    the next one for all of them: each value is computed by one thread at a time, however often its stamp changes.

    Args:
        most: of the sizes of all values together.
        size: of a value; without it each counts as one.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._lock = Lock()
        self._turns = count()
        self._entries: LRUCache[Hashable, _Entry[T]] = LRUCache(most, lambda entry: min(size(entry.value), most))
        self._computing: dict[Hashable, _Computation[T]] = {}

    def peek(self, key: Hashable, stamp: object) -> T | None:
        """Give a value where nothing has to be computed for it, else None."""
        with self._lock:
            entry = self._entries.get(key)
            return entry.value if entry is not None and entry.stamp == stamp else None

    def latest(self, key: Hashable) -> T | None:
        """Give the last value that is kept, of whatever stamp."""
        with self._lock:
            entry = self._entries.get(key)
            return None if entry is None else entry.value

    def get(self, key: Hashable, stamp: object, make: Callable[[], T]) -> T:
        """Give a value; `make` computes it in one of the threads that ask, and the others wait for that one.

        Raises:
            Exception: what `make` raises, for all that wait.
        """
        with self._lock:
            asked = next(self._turns)
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None and (entry.stamp == stamp or entry.turn > asked):
                    return entry.value
                under_way = self._computing.get(key)
                if under_way is None:
                    ours = self._computing[key] = _Computation[T](stamp, next(self._turns))
                    break
            if under_way.stamp == stamp or under_way.turn > asked:
                return under_way.result.result()
            wait([under_way.result])
        return self._computed(key, ours, make)

    def _computed(self, key: Hashable, ours: _Computation[T], make: Callable[[], T]) -> T:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._computing[key]
            ours.result.set_exception(error)
            raise
        with self._lock:
            del self._computing[key]
            self._entries[key] = _Entry(ours.stamp, ours.turn, value)
        ours.result.set_result(value)
        return value


class Answers:
    """What the service has computed of a database, for everyone who may read.

    Nothing here may depend on who asks: an answer is kept by its address.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readers = CapacityLimiter(READERS)
        self._lines: StampedCache[tuple[Tally, HeadlineRates | None]] = StampedCache(LINES)
        self._totals: StampedCache[CampaignTotals] = StampedCache(ADDED_UP)
        self._bodies: StampedCache[bytes] = StampedCache(BYTES, len)

    def totals(self, study: Study) -> CampaignTotals:
        """All trials of a study, added up; only those are read that are new."""
        key, stamp = (study.name, study.created_at), self._stamp(study, self._store.lists.extent(study.name))

        def added_up() -> CampaignTotals:
            totals = deepcopy(self._totals.latest(key)) or CampaignTotals()
            totals.read(self._store.lists, study.name)
            return totals

        return self._totals.get(key, stamp, added_up)

    def line(self, study: Study, extent: StudyExtent) -> StudyLine:
        """What a list says of a study."""
        stamp = self._stamp(study, extent)
        tally, rates = self._lines.get(
            (study.name, study.created_at),
            stamp,
            lambda: (self._store.tallies(study.name).get(study.name, Tally()), rates_of(self._store, study)),
        )
        return StudyLine(study, state(study, self._store, tally), tally, rates)

    async def read(self, make: Callable[[], T]) -> T:
        """Run what reads the database in a thread; not many at a time, because they would only wait for each other."""
        return await to_thread.run_sync(make, limiter=self._readers)

    async def of_all(self, request: Request, make: Callable[[], BaseModel | str | bytes]) -> bytes:
        """The answer of an address that tells of any study, or of how one stands."""

        def body() -> bytes:
            stamp = (self._store.lists.version(), int(monotonic() / ALIVE_S))
            return self._bodies.get(_address(request), stamp, lambda: _bytes(make()))

        return await self.read(body)

    async def of_study(self, request: Request, name: str, make: Callable[[], BaseModel | str | bytes]) -> bytes:
        """The answer of an address that tells only of the trials of a study.

        Raises:
            ResultsError: there is no such study.
        """

        def body() -> bytes:
            study, stamp = self.known(name)
            return self._bodies.get((_address(request), study.created_at), stamp, lambda: _bytes(make()))

        return await self.read(body)

    def known(self, name: str) -> tuple[Study, object]:
        """Read a study, and what is another value when the study or its trials have changed.

        Raises:
            ResultsError: there is no such study.
        """
        study = self._store.study(name)
        return study, self._stamp(study, self._store.lists.extent(name))

    def newest(self) -> list[str]:
        """The name of the newest study.

        Raises:
            ResultsError: there is none.
        """
        return [self._store.newest().name]

    def known_with_followers(self, name: str) -> tuple[Study, object]:
        """Read as `known` does; what the other studies have done that ran a file like a trial of this one counts too.

        Raises:
            ResultsError: there is no such study.
        """
        study, stamp = self.known(name)
        return study, (stamp, tuple(self.known(follower)[1] for follower in followers(self._store, name)))

    def _stamp(self, study: Study, extent: StudyExtent) -> object:
        return study, extent, self._store.lists.version() if extent.open else ""


def _address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}"


def _bytes(made: BaseModel | str | bytes) -> bytes:
    if isinstance(made, BaseModel):
        return made.model_dump_json().encode()
    return made.encode() if isinstance(made, str) else made
