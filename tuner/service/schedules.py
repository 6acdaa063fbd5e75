"""Campaigns at stated times: when one is due, in words, and the duty of the service that hands it in."""

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError

from results.errors import KeyReusedError, StudyExistsError
from results.store.service.campaign_entry import QueueState
from results.store.service.schedules import Schedule
from results.store.service.tokens import AccessScope, TokenState
from results.store.store import Store

from ..errors import OUR_ERRORS, UsageError
from ..units import parse_duration_s
from .background import Duty
from .campaigns.hand_in import HandIn, hand_in
from .campaigns.kinds.registry import DOCUMENTS
from .campaigns.offered import Offers
from .campaigns.wrong import WrongDocumentError

LOOK_S = 5.0
"""Seconds between two looks at the clock."""
LOGGER = logging.getLogger("hpltune.schedules")

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
GROUPS = {"day": frozenset(range(7)), "weekday": frozenset(range(5))}
LEAST_S = 600.0
"""Seconds between two campaigns of a schedule at least."""
EXAMPLES = '"every monday at 06:00", "every day at 22:30 Europe/Berlin" or "every 6h"'
_AT = re.compile(r"(?i:every) (?P<day>\w+) (?i:at) (?P<hour>\d{1,2}):(?P<minute>\d\d)(?: (?P<zone>[A-Za-z][\w+/-]*))?")
_EACH = re.compile(r"(?i:every) (?P<span>[0-9][0-9.smhd]*)")


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
    offered: Offers
    wake: Callable[[], None]
    now: Callable[[], datetime] = _now
    duty: Duty = field(init=False)

    def __post_init__(self) -> None:
        """Make the duty that looks for what is due."""
        self.duty = Duty("the keeper of schedules", self._turn, LOOK_S)

    def _turn(self) -> bool:
        self.look()
        return False

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
        if not self._may_still_run(schedule.made_by):
            LOGGER.warning(
                "schedule %s is paused: the token of %s, who made it, hands in nothing any more",
                schedule.name,
                schedule.made_by,
            )
            self.store.schedules.pause(schedule.name, paused=True, next_at=schedule.next_at)
            return
        _, cadence = parse_cadence(schedule.cadence, "UTC")
        name = None if self._last_is_at_work(schedule) else self._handed_in(schedule, cadence.stamp(schedule.next_at))
        next_at = cadence.after(schedule.next_at)
        while next_at <= now:
            next_at = cadence.after(next_at)
        self.store.schedules.move_on(schedule, next_at, name)
        if name is not None:
            self.wake()

    def _may_still_run(self, user: str) -> bool:
        """Whether a user may hand in campaigns; one who never had a token came by a proxy, or runs the service."""
        token = self.store.tokens.of_name(user)
        return token is None or (token.state(self.now()) is TokenState.VALID and token.scope.covers(AccessScope.RUN))

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
            document = DOCUMENTS.validate_python({**schedule.document, "name": f"{schedule.name}-{stamp}"})
            return hand_in(HandIn(document, schedule.made_by, key), self.offered, self.store).name
        except (WrongDocumentError, ValidationError, StudyExistsError, KeyReusedError) as error:
            LOGGER.warning("schedule %s cannot hand in its campaign: %s", schedule.name, error)
            return None


@dataclass(frozen=True)
class Weekly:
    """Days of the week at a time of a time zone's clock, which changes between summer and winter with it."""

    days: frozenset[int]
    at: time
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime:
        """The first due time after a moment, in UTC; a time that a clock leaves out in spring is an hour later."""
        day = moment.astimezone(self.zone).date() - timedelta(days=1)
        while True:
            due = datetime.combine(day, self.at, self.zone).astimezone(UTC)
            if due > moment and day.weekday() in self.days:
                return due
            day += timedelta(days=1)

    def stamp(self, due: datetime) -> str:
        """The day of a due time by the clock of its zone, in names of campaigns."""
        return f"{due.astimezone(self.zone):%Y-%m-%d}"


@dataclass(frozen=True)
class Interval:
    """Again and again after the same time."""

    span: timedelta

    def after(self, moment: datetime) -> datetime:
        """The next due time after one."""
        return (moment + self.span).astimezone(UTC)

    def stamp(self, due: datetime) -> str:
        """A due time in names of campaigns."""
        return f"{due.astimezone(UTC):%Y-%m-%d-%H%M}"


def parse_cadence(text: str, zone: str) -> tuple[str, Weekly | Interval]:
    """Read when something is due, and write it with its time zone.

    Args:
        zone: the time zone where the text names none.

    Raises:
        UsageError: it cannot be read; the sentence has examples.
    """
    words = " ".join(text.split())
    each = _EACH.fullmatch(words)
    if each:
        seconds = parse_duration_s(each["span"], "cadence")
        if seconds < LEAST_S:
            raise UsageError(
                f"at least {LEAST_S / 60:.0f} minutes are between two campaigns", field="cadence", given=text
            )
        return f"every {each['span']}", Interval(timedelta(seconds=seconds))
    at = _AT.fullmatch(words)
    days = _days(at["day"].lower()) if at else None
    if at is None or days is None or int(at["hour"]) > 23 or int(at["minute"]) > 59:
        raise UsageError(f"write for example {EXAMPLES}", field="cadence", given=text[:80])
    name = at["zone"] or zone
    try:
        found = ZoneInfo("UTC" if name.upper() == "UTC" else name)
        if found.key == "localtime":
            raise ValueError(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"there is no time zone {name}; write one like Europe/Berlin", field="cadence", given=text[:80]
        ) from error
    clock = time(int(at["hour"]), int(at["minute"]))
    return f"every {at['day'].lower()} at {clock:%H:%M} {found.key}", Weekly(days, clock, found)


def local_zone() -> str:
    """The name of this machine's time zone; UTC where it has none."""
    for name in (os.environ.get("TZ", "").removeprefix(":"), _linked()):
        if name:
            try:
                return ZoneInfo(name).key
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return "UTC"


def _days(word: str) -> frozenset[int] | None:
    if word in DAYS:
        return frozenset({DAYS.index(word)})
    return GROUPS.get(word)


def _linked() -> str:
    try:
        return str(Path("/etc/localtime").readlink()).partition("zoneinfo/")[2]
    except OSError:
        return ""
