"""What takes the machine itself to find out: doctor's facts and predictions; nothing of it beside a measurement."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from time import monotonic
from typing import Any

from results.store.store import Store
from results.store.study_list import StudiesAsked

from .background import BackgroundChild
from .cache import Answers, StampedCache
from .problems import Problem

FRESH_S = 300.0
"""Seconds for which doctor's facts are told again as they are."""
LONGEST_S = 120.0
WAITING = 4
"""Predictions that may wait for each other."""
PREDICTIONS = 100
"""Of those that are kept: the same question has the same answer."""


class MachineQueries:
    """Works things out on this machine, one at a time, and none while a campaign runs here.

    Args:
        place: the database, with its password where it has one.
    """

    def __init__(self, store: Store, answers: Answers, place: str) -> None:
        self._store, self._answers = store, answers
        self._child = BackgroundChild("machine", place, LONGEST_S)
        self._doctor: Future[bytes] | None = None
        self._seen_at_s = 0.0
        self._predictions: StampedCache[bytes] = StampedCache(PREDICTIONS)
        self._waiting = 0

    async def doctor(self) -> bytes:
        """Tell doctor's facts; while a campaign runs here those of before, however old.

        Raises:
            Problem: there are none of before.
        """
        old = self._doctor
        known = old is not None and (not old.done() or old.exception() is None)
        if old is None or not known or (old.done() and monotonic() > self._seen_at_s + FRESH_S):
            if await self._answers.read(self._campaign_runs):
                if old is None or not known:
                    raise _beside("doctor times programs")
            else:
                old = self._doctor = self._child.submit(self._examined)
        return await asyncio.shield(asyncio.wrap_future(old))

    async def prediction(self, design: Mapping[str, Any]) -> bytes:
        """Predict a design.

        Raises:
            UsageError: it cannot be predicted.
            Problem: a campaign runs here, or others wait already.
        """
        key = tuple(sorted(design.items()))
        known = self._predictions.peek(key, None)
        if known is not None:
            return known
        if await self._answers.read(self._campaign_runs):
            raise _beside("a prediction takes its cores")
        if self._waiting >= WAITING:
            raise Problem(503, "Other predictions wait already: ask again later.", {"Retry-After": "60"})
        self._waiting += 1
        work = self._child.submit(
            lambda: self._predictions.get(key, None, lambda: self._child.compute("prediction", design=dict(design)))
        )
        try:
            return await asyncio.shield(asyncio.wrap_future(work))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End what is under way, and begin nothing more."""
        self._child.close()

    def _examined(self) -> bytes:
        found = self._child.compute("doctor")
        self._seen_at_s = monotonic()
        return found

    def _campaign_runs(self) -> bool:
        """Whether a process of this machine works on a study."""
        running = self._store.lists.newest_first(StudiesAsked(state="running"), 100)
        return any(lease.of_this_host for study, _ in running for lease in self._store.others(study.name))


def _beside(why: str) -> Problem:
    said = f"A campaign runs on this machine, and {why}, which would disturb it: ask again when it has ended."
    return Problem(503, said, {"Retry-After": "300"})
