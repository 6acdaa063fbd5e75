"""Studies as files that take long to write: each is written once in a process of its own, one at a time."""

import asyncio
from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Request

from ..problems import Problem
from .answers import Answers
from .values import Kept
from .writer import Writer

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


class Files:
    """Files of studies, written one after the other.

    Args:
        place: the database, with its password where it has one.
    """

    def __init__(self, answers: Answers, place: str) -> None:
        self._answers = answers
        self._kept: Kept[bytes] = Kept(BYTES, len)
        self._writer = Writer("files", place, LONGEST_S)
        self._writing: dict[Hashable, Future[bytes]] = {}

    async def of(self, name: str, kind: FileKind) -> bytes:
        """Give a file of a study.

        Raises:
            ResultsError: there is no such study.
            Problem: others wait already, or it takes too long.
        """
        study, stamp = await self._answers.read(lambda: self._answers.known(name))
        return await self._of((kind, name, study.created_at), stamp, kind.value, name=name)

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

    async def _of(self, key: Hashable, stamp: object, kind: str, **asked: object) -> bytes:
        known = self._kept.peek(key, stamp)
        if known is not None:
            return known
        writing = self._writing.get(key)
        if writing is None:
            if len(self._writing) >= WAITING:
                raise Problem(503, "Many files are being written now: ask again later.", {"Retry-After": "30"})
            writing = self._writer.submit(lambda: self._kept.get(key, stamp, lambda: self._writer.write(kind, **asked)))
            self._writing[key] = writing
            writing.add_done_callback(lambda _: self._writing.pop(key, None))
        return await asyncio.shield(asyncio.wrap_future(writing))

    def close(self) -> None:
        """End the process that writes, and start no more."""
        self._writer.close()


async def _files(request: Request) -> Files:
    files = request.app.state.files
    assert isinstance(files, Files)  # noqa: S101 - made before the first request
    return files


KeptFiles = Annotated[Files, Depends(_files)]
