"""Campaigns that are handed in again and again, at stated times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, delete, insert, select, update

from ...errors import StudyExistsError
from ...plain import time_text, unicode_text
from ..networks import Transaction
from ..rows import json_text, object_of
from ..schema import SCHEDULES


@dataclass(frozen=True)
class Schedule:
    """What is handed in again and again.

    Attributes:
        cadence: when, in words that people write.
        document: what is handed in.
        next_at: when it is due next.
        last_at: when it was due last.
        last_campaign: what was handed in then; None before the first time.
    """

    name: str
    cadence: str
    document: Mapping[str, Any]
    made_by: str
    made_at: datetime
    next_at: datetime
    last_at: datetime | None = None
    last_campaign: str | None = None
    paused: bool = False


@dataclass(frozen=True)
class ScheduleBook:
    """The methods of a store for schedules; each is one transaction."""

    reading: Transaction
    alone: Transaction

    def add(self, schedule: Schedule) -> None:
        """Store a new schedule.

        Raises:
            StudyExistsError: the name is taken.
        """
        with self.alone() as connection:
            if connection.execute(select(SCHEDULES.c.name).where(SCHEDULES.c.name == schedule.name)).first():
                raise StudyExistsError(f"schedule {schedule.name} exists already: choose another name")
            connection.execute(insert(SCHEDULES).values(**_row(schedule)))

    def find(self, name: str) -> Schedule | None:
        """Read a schedule; None where there is none of this name."""
        with self.reading() as connection:
            row = connection.execute(select(SCHEDULES).where(SCHEDULES.c.name == name)).mappings().first()
        return None if row is None else _schedule(row)

    def all(self) -> Sequence[Schedule]:
        """List all schedules, the one that is due first at the beginning."""
        with self.reading() as connection:
            rows = connection.execute(select(SCHEDULES).order_by(SCHEDULES.c.next_at, SCHEDULES.c.name)).mappings()
            return [_schedule(row) for row in rows]

    def due(self, now: datetime) -> Sequence[Schedule]:
        """List schedules that are due and not paused, the oldest first."""
        waiting = (SCHEDULES.c.next_at <= time_text(now)) & SCHEDULES.c.paused.is_(False)
        with self.reading() as connection:
            rows = connection.execute(select(SCHEDULES).where(waiting).order_by(SCHEDULES.c.next_at)).mappings()
            return [_schedule(row) for row in rows]

    def move_on(self, schedule: Schedule, next_at: datetime, campaign: str | None) -> bool:
        """Note that a due time is over, and when the next is.

        Args:
            campaign: what was handed in; None where nothing was.

        Returns:
            False, and nothing is stored, where another service did so before.
        """
        here = (SCHEDULES.c.name == schedule.name) & (SCHEDULES.c.next_at == time_text(schedule.next_at))
        values = {"next_at": time_text(next_at), "last_at": time_text(schedule.next_at)}
        values |= {} if campaign is None else {"last_campaign": campaign}
        with self.alone() as connection:
            return connection.execute(update(SCHEDULES).where(here).values(values)).rowcount == 1

    def pause(self, name: str, *, paused: bool, next_at: datetime) -> None:
        """Pause or resume a schedule; `next_at` is when it is due next."""
        values = {"paused": paused, "next_at": time_text(next_at)}
        with self.alone() as connection:
            connection.execute(update(SCHEDULES).where(SCHEDULES.c.name == name).values(values))

    def remove(self, name: str) -> None:
        """Remove a schedule; its campaigns stay."""
        with self.alone() as connection:
            connection.execute(delete(SCHEDULES).where(SCHEDULES.c.name == name))


def _row(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": unicode_text(schedule.name),
        "cadence": schedule.cadence,
        "document": json_text(dict(schedule.document)),
        "made_by": unicode_text(schedule.made_by),
        "made_at": time_text(schedule.made_at),
        "next_at": time_text(schedule.next_at),
        "paused": schedule.paused,
    }


def _schedule(row: RowMapping) -> Schedule:
    return Schedule(
        name=row["name"],
        cadence=row["cadence"],
        document=object_of(row["document"], "document"),
        made_by=row["made_by"],
        made_at=datetime.fromisoformat(row["made_at"]),
        next_at=datetime.fromisoformat(row["next_at"]),
        last_at=datetime.fromisoformat(row["last_at"]) if row["last_at"] else None,
        last_campaign=row["last_campaign"],
        paused=row["paused"],
    )
