"""Hands in what is due, in a thread of the service."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from results.errors import KeyReusedError, ResultsError, StudyExistsError
from results.store.service.campaign_entry import QueueState
from results.store.service.schedules import Schedule
from results.store.store import Store

from ...errors import OUR_ERRORS
from ..campaigns.hand_in import HandIn, hand_in
from ..campaigns.kinds.registry import AnyDocument
from ..campaigns.offered import Offered
from ..campaigns.wrong import WrongDocumentError
from .cadence import parse_cadence

LOOK_S = 5.0
"""Seconds between two looks at the clock."""
LOGGER = logging.getLogger("hpltune.schedules")
_DOCUMENT: TypeAdapter[Any] = TypeAdapter(AnyDocument)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class ScheduleKeeper:
    """Looks at the clock until it is closed.

    Attributes:
        wake: told when a campaign was handed in.
        now: the clock.
    """

    store: Store
    offered: Offered
    wake: Callable[[], None]
    now: Callable[[], datetime] = _now
    _closed: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._work, name="schedules", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hand in nothing more."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._closed.wait(LOOK_S):
            try:
                self.look()
            except ResultsError as error:
                LOGGER.warning("schedules cannot be looked at: %s", error)

    def look(self) -> None:
        """Hand in what is due; of several times that were missed only one campaign is made."""
        now = self.now()
        for schedule in self.store.schedules.due(now):
            try:
                self._due(schedule, now)
            except OUR_ERRORS as error:  # the others are handed in, and this one is tried again
                LOGGER.warning("schedule %s cannot hand in its campaign now: %s", schedule.name, error)

    def _due(self, schedule: Schedule, now: datetime) -> None:
        """Hand in one campaign, and note when the next is due.

        Raises:
            TunerError, ResultsError: it cannot be done now.
        """
        _, cadence = parse_cadence(schedule.cadence, "UTC")
        name = None if self._last_is_at_work(schedule) else self._handed_in(schedule, cadence.stamp(schedule.next_at))
        next_at = cadence.after(schedule.next_at)
        while next_at <= now:
            next_at = cadence.after(next_at)
        self.store.schedules.move_on(schedule, next_at, name)
        if name is not None:
            self.wake()

    def _last_is_at_work(self, schedule: Schedule) -> bool:
        """Whether the campaign before still waits or runs: another one would only wait behind it."""
        last = self.store.queue.find(schedule.last_campaign) if schedule.last_campaign else None
        if last is None or last.state not in {QueueState.QUEUED, QueueState.RUNNING}:
            return False
        LOGGER.warning("schedule %s: campaign %s has not ended yet, so this time is left out", schedule.name, last.name)
        return True

    def _handed_in(self, schedule: Schedule, stamp: str) -> str | None:
        """The name of the campaign that is handed in; None where its document is wrong by now, or its name taken.

        Raises:
            TunerError, ResultsError: it cannot be done now.
        """
        key = f"schedule {schedule.name} of {schedule.made_at.isoformat()} at {schedule.next_at.isoformat()}"
        try:
            document = _DOCUMENT.validate_python({**schedule.document, "name": f"{schedule.name}-{stamp}"})
            return hand_in(HandIn(document, schedule.made_by, key), self.offered, self.store).name
        except (WrongDocumentError, ValidationError, StudyExistsError, KeyReusedError) as error:
            LOGGER.warning("schedule %s cannot hand in its campaign: %s", schedule.name, error)
            return None
