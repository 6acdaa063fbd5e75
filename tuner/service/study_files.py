"""Studies as files that take long to write: each is written once in a process of its own, one at a time."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import Any

from results.errors import UnknownStudyError
from results.record import Study

from .background import BackgroundChild
from .cache import Answers, StampedCache
from .problems import Problem

BYTES = 64_000_000
"""Of all files that are kept."""
WAITING = 16
"""Files that may wait to be written."""
LONGEST_S = 300.0
"""Seconds after which the writing of one is given up."""


class FileKind(StrEnum):
    """What is written of a study."""

    REPORT = "report"
    PARQUET = "parquet"


@dataclass
class _Writing:
    """A file that is written, or waits to be.

    Attributes:
        stamp: the newest of those who wait for it and asked before it was begun.
    """

    stamp: object
    begun: bool = False


class StudyFiles:
    """Files of studies, written one after the other.

    Who asks for a file that waits to be written gets that one; who asks while it is written, and its study has changed
    meanwhile, waits for the next. So each file has all that had ended when it was asked for, and of each file at most
    two are under way.

    Args:
        place: the database, with its password where it has one.
    """

    def __init__(self, answers: Answers, place: str) -> None:
        self._answers = answers
        self._kept: StampedCache[bytes] = StampedCache(BYTES, len)
        self._child = BackgroundChild("files", place, LONGEST_S)
        self._lock = Lock()
        self._newest: dict[Hashable, tuple[_Writing, Future[bytes]]] = {}
        self._under_way = 0

    async def of(self, name: str, kind: FileKind) -> bytes:
        """Give a file of a study.

        Raises:
            ResultsError: there is no such study.
            Problem: others wait already, or it takes too long.
        """
        return await self._of_study(kind.value, name, followers=kind is FileKind.REPORT)

    async def tab(self, name: str, tab: str) -> bytes:
        """Give a part of the page of a study.

        Raises:
            ResultsError: there is no such study.
            Problem: others wait already, or it takes too long.
        """
        return await self._of_study("tab", name, followers=True, tab=tab)

    async def trial(self, name: str, number: int) -> bytes:
        """Give the page of one trial of a study.

        Raises:
            ResultsError: there is no such study.
            Problem: others wait already, or it takes too long.
        """
        return await self._of_study("trial", name, number=number)

    async def _of_study(self, kind: str, name: str, *, followers: bool = False, **asked: str | int) -> bytes:
        """Give what is written of one study, anew where that has changed, or, if asked, those that follow it."""
        known = self._answers.known_with_followers if followers else self._answers.known
        study, stamp = await self._answers.read(lambda: known(name))
        key = (kind, name, study.created_at, *asked.values())
        return await self._of(key, stamp, kind, name=name, **asked)

    async def comparison(self, names: Sequence[str]) -> bytes:
        """Give the page of studies that are compared.

        Raises:
            ResultsError: there is no such study.
            UsageError: they cannot be compared.
            Problem: others wait already, or it takes too long.
        """
        known = await self._answers.read(lambda: [self._answers.known(name) for name in names])
        key = ("comparison", tuple((study.name, study.created_at) for study, _ in known))
        return await self._of(key, tuple(stamp for _, stamp in known), "comparison", names=list(names))

    async def compared(self, keys: Mapping[str, Any], *, facts: bool) -> bytes:
        """Give what `hpltune compare` prints of studies, or its facts, as JSON.

        Args:
            keys: of what is asked; without studies it is about the newest one.

        Raises:
            UsageError: they cannot be compared.
            Problem: there is no such study, others wait already, or it takes too long.
        """
        names = keys["studies"] or await self._answers.read(self._answers.newest)
        known = [await self._named(name) for name in names]
        asked = {**keys, "studies": list(names)}
        key = ("compared", facts, repr(asked), tuple(study.created_at for study, _ in known))
        return await self._of(key, tuple(stamp for _, stamp in known), "compared", keys=asked, facts=facts)

    async def _named(self, name: str) -> tuple[Study, object]:
        try:
            return await self._answers.read(lambda: self._answers.known(name))
        except UnknownStudyError as error:
            raise Problem(404, f"There is no campaign {name} that has begun: /api/v1/campaigns lists all.") from error

    async def _of(self, key: Hashable, stamp: object, kind: str, **asked: object) -> bytes:
        known = self._kept.peek(key, stamp)
        if known is not None:
            return known
        with self._lock:
            file, future = self._newest.get(key, (None, None))
            if file is not None and not file.begun:
                file.stamp = stamp
        if file is None or future is None or file.stamp != stamp:
            future = self._submitted(key, stamp, lambda: self._child.compute(kind, **asked))
        return await asyncio.shield(asyncio.wrap_future(future))

    def _submitted(self, key: Hashable, stamp: object, write: Callable[[], bytes]) -> "Future[bytes]":
        if self._under_way >= WAITING:
            raise Problem(503, "Many files are being written now: ask again later.", {"Retry-After": "30"})
        file = _Writing(stamp)

        def written() -> bytes:
            with self._lock:
                file.begun = True
            return self._kept.get(key, file.stamp, write)

        def ended(_: "Future[bytes]") -> None:
            with self._lock:
                self._under_way -= 1
                if self._newest.get(key, (None, None))[0] is file:
                    del self._newest[key]

        with self._lock:
            future = self._child.submit(written)
            self._newest[key] = file, future
            self._under_way += 1
        future.add_done_callback(ended)
        return future

    def close(self) -> None:
        """End the process that writes, and start no more."""
        self._child.close()
