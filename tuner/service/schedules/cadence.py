"""When something is due again, in words: "every monday at 06:00 Europe/Berlin", "every day at 22:30", "every 6h"."""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...errors import UsageError
from ...units import parse_duration_s

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
GROUPS = {"day": frozenset(range(7)), "weekday": frozenset(range(5))}
LEAST_S = 600.0
"""Seconds between two campaigns of a schedule at least."""
EXAMPLES = '"every monday at 06:00", "every day at 22:30 Europe/Berlin" or "every 6h"'
_AT = re.compile(r"(?i:every) (?P<day>\w+) (?i:at) (?P<hour>\d{1,2}):(?P<minute>\d\d)(?: (?P<zone>[A-Za-z][\w+/-]*))?")
_EACH = re.compile(r"(?i:every) (?P<span>[0-9][0-9.smhd]*)")


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
        seconds = parse_duration_s(each["span"], "--cadence")
        if seconds < LEAST_S:
            raise UsageError(f"--cadence {text}: at least {LEAST_S / 60:.0f} minutes are between two campaigns")
        return f"every {each['span']}", Interval(timedelta(seconds=seconds))
    at = _AT.fullmatch(words)
    days = _days(at["day"].lower()) if at else None
    if at is None or days is None or int(at["hour"]) > 23 or int(at["minute"]) > 59:
        raise UsageError(f"--cadence {text[:80]}: write for example {EXAMPLES}")
    name = at["zone"] or zone
    try:
        found = ZoneInfo("UTC" if name.upper() == "UTC" else name)
        if found.key == "localtime":
            raise ValueError(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"--cadence {text[:80]}: there is no time zone {name}; write one like Europe/Berlin"
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
