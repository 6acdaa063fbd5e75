"""Answers to requests that only read: as bytes, kept until the database has changed."""

from collections.abc import Callable
from time import monotonic
from typing import Annotated, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from pydantic import BaseModel

from results.record import Study
from results.stats.headline import HeadlineRates
from results.store.store import Store
from results.store.study_list import StudyExtent, Tally

from ...commands.stored.report import followers
from ...commands.stored.show import rates_of, state
from ...reports.studies import StudyLine
from .values import Kept

T = TypeVar("T")
READERS = 4
"""Threads that read the database; with 20 the slowest of 100 answers took twice as long."""
LINES = 5_000
"""Studies whose figures are kept."""
BYTES = 32_000_000
"""Of all answers that are kept."""
ALIVE_S = 1.0
"""Seconds after which it is looked again whether the processes of studies live, which no database tells."""


class Answers:
    """What the service has computed of a database, for everyone who may read.

    Nothing here may depend on who asks: an answer is kept by its address.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readers = CapacityLimiter(READERS)
        self._lines: Kept[tuple[Tally, HeadlineRates | None]] = Kept(LINES)
        self._bodies: Kept[bytes] = Kept(BYTES, len)

    def line(self, study: Study, extent: StudyExtent) -> StudyLine:
        """What a list says of a study."""
        stamp = self._stamp(study, extent)
        tally, rates = self._lines.get((study.name, study.created_at), stamp, lambda: self._of(study))
        return StudyLine(study, state(study, self._store), tally, rates)

    async def read(self, make: Callable[[], T]) -> T:
        """Run what reads the database in a thread; not many at a time, because they would only wait for each other."""
        return await to_thread.run_sync(make, limiter=self._readers)

    async def of_all(self, request: Request, make: Callable[[], BaseModel | str]) -> bytes:
        """The answer of an address that tells of any study, or of how one stands."""

        def body() -> bytes:
            stamp = (self._store.lists.version(), int(monotonic() / ALIVE_S))
            return self._bodies.get(_address(request), stamp, lambda: _bytes(make()))

        return await self.read(body)

    async def of_study(self, request: Request, name: str, make: Callable[[], BaseModel | str]) -> bytes:
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

    def known_with_followers(self, name: str) -> tuple[Study, object]:
        """Read as `known` does; what the other studies have done that ran a file like a trial of this one counts too.

        Raises:
            ResultsError: there is no such study.
        """
        study, stamp = self.known(name)
        return study, (stamp, tuple(self.known(follower)[1] for follower in followers(self._store, name)))

    def _stamp(self, study: Study, extent: StudyExtent) -> object:
        return study, extent, self._store.lists.version() if extent.open else ""

    def _of(self, study: Study) -> tuple[Tally, HeadlineRates | None]:
        return self._store.lists.tally(study.name), rates_of(self._store, study)


def _address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}"


def _bytes(made: BaseModel | str) -> bytes:
    return made.encode() if isinstance(made, str) else made.model_dump_json().encode()


async def _answers(request: Request) -> Answers:
    answers = request.app.state.answers
    assert isinstance(answers, Answers)  # noqa: S101 - made before the first request
    return answers


KeptAnswers = Annotated[Answers, Depends(_answers)]
