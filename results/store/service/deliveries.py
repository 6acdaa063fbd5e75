"""Messages that wait until a webhook has taken them, and those that one took or never will."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, case, delete, func, insert, select, update

from ...plain import moment_of, time_text, unicode_text
from ..networks import Transaction
from ..rows import json_text
from ..schema import DELIVERIES
from .campaign_entry import CampaignEntry


@dataclass(frozen=True)
class OutgoingMessage:
    """What is told to a webhook.

    Attributes:
        webhook: its name.
        event: "done", "failed", "slower" or "test".
        body: what is sent, as JSON holds it; the message's id is added.
    """

    webhook: str
    event: str
    body: Mapping[str, Any]


Tell = Callable[[CampaignEntry], Sequence[OutgoingMessage]]
"""The messages that the end of a campaign makes; it is stored in the same transaction as the end."""


class DeliveryState(StrEnum):
    """How a message stands."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


@dataclass(frozen=True)
class Delivery:
    """A message, and how far it got.

    Attributes:
        number: its id, the same at every attempt; ids sort by the time at which they were made.
        body: the text that is sent.
        attempts: how often it was sent.
        next_at: when it is sent again; None once it was delivered or given up.
        reason: why the last attempt failed; "" where none did.
    """

    number: str
    webhook: str
    event: str
    body: str
    attempts: int
    next_at: datetime | None
    delivered_at: datetime | None
    reason: str

    @property
    def state(self) -> DeliveryState:
        """How it stands."""
        if self.delivered_at is not None:
            return DeliveryState.DELIVERED
        return DeliveryState.GIVEN_UP if self.next_at is None else DeliveryState.WAITING


@dataclass(frozen=True)
class Deliveries:
    """The methods of a store for messages to webhooks; each is one transaction.

    Attributes:
        alone: a transaction that no other process is in at the same time.
    """

    reading: Transaction
    writing: Transaction
    alone: Transaction

    def add(self, message: OutgoingMessage) -> Delivery:
        """Store a message that is due now."""
        with self.writing() as connection:
            (number,) = add_messages(connection, [message])
            return _delivery(connection.execute(_of(number)).mappings().one())

    def claim(self, webhook: str, now: datetime, until: datetime) -> Delivery | None:
        """Take the message to a webhook that is due longest; None where none is.

        Nobody else gets it until a moment, when it is due again unless this process has told how it went.
        """
        due = (DELIVERIES.c.webhook == webhook) & (DELIVERIES.c.next_at <= time_text(now))
        query = select(DELIVERIES).where(due).order_by(DELIVERIES.c.next_at, DELIVERIES.c.id).limit(1)
        with self.reading() as connection:
            if connection.execute(query).first() is None:
                return None
        with self.alone() as connection:
            row = connection.execute(query).mappings().first()
            if row is None:
                return None
            here = DELIVERIES.c.id == row["id"]
            values = {"next_at": time_text(until), "attempts": row["attempts"] + 1}
            connection.execute(update(DELIVERIES).where(here).values(values))
            return _delivery(connection.execute(_of(row["id"])).mappings().one())

    def delivered(self, number: str, now: datetime) -> None:
        """Note that a webhook took a message."""
        self._note(number, {"delivered_at": time_text(now), "next_at": None, "reason": ""})

    def failed(self, number: str, reason: str, next_at: datetime | None) -> None:
        """Note that an attempt failed.

        Args:
            next_at: when it is sent again; None gives it up.
        """
        self._note(number, {"next_at": None if next_at is None else time_text(next_at), "reason": unicode_text(reason)})

    def _note(self, number: str, values: Mapping[str, str | None]) -> None:
        open_row = (DELIVERIES.c.id == number) & DELIVERIES.c.delivered_at.is_(None)
        with self.writing() as connection:
            connection.execute(update(DELIVERIES).where(open_row).values(dict(values)))

    def newest(self, webhook: str, count: int) -> Sequence[Delivery]:
        """Read the last messages to a webhook, newest first."""
        query = select(DELIVERIES).where(DELIVERIES.c.webhook == webhook).order_by(DELIVERIES.c.id.desc()).limit(count)
        with self.reading() as connection:
            return [_delivery(row) for row in connection.execute(query).mappings()]

    def counts(self, webhook: str) -> Mapping[DeliveryState, int]:
        """Count the messages to a webhook by how they stand."""
        state = case(
            (DELIVERIES.c.delivered_at.is_not(None), DeliveryState.DELIVERED.value),
            (DELIVERIES.c.next_at.is_(None), DeliveryState.GIVEN_UP.value),
            else_=DeliveryState.WAITING.value,
        )
        query = select(state, func.count()).where(DELIVERIES.c.webhook == webhook).group_by(state)
        with self.reading() as connection:
            found = {DeliveryState(text): count for text, count in connection.execute(query).all()}
        return {one: found.get(one, 0) for one in DeliveryState}

    def forget(self, before: datetime) -> int:
        """Remove messages that were made before a moment and wait no longer; return how many."""
        old = (DELIVERIES.c.id < _start_of_id(before)) & DELIVERIES.c.next_at.is_(None)
        with self.writing() as connection:
            return connection.execute(delete(DELIVERIES).where(old)).rowcount


def add_messages(connection: Connection, messages: Iterable[OutgoingMessage]) -> Collection[str]:
    """Store messages that are due now, and return their ids."""
    numbers = []
    for message in messages:
        now = datetime.now(UTC)
        number = f"{_start_of_id(now)}-{secrets.token_hex(10)}"
        row = {
            "id": number,
            "webhook": message.webhook,
            "event": message.event,
            "body": json_text({"id": number, **message.body}),
            "attempts": 0,
            "next_at": time_text(now),
            "reason": "",
        }
        connection.execute(insert(DELIVERIES).values(**row))
        numbers.append(number)
    return numbers


def _start_of_id(moment: datetime) -> str:
    """Milliseconds in a fixed width, so that ids sort as time does."""
    return f"{int(moment.timestamp() * 1000):012x}"


def _of(number: str) -> Any:
    return select(DELIVERIES).where(DELIVERIES.c.id == number)


def _delivery(row: RowMapping) -> Delivery:
    return Delivery(
        number=row["id"],
        webhook=row["webhook"],
        event=row["event"],
        body=row["body"],
        attempts=row["attempts"],
        next_at=moment_of(row["next_at"]),
        delivered_at=moment_of(row["delivered_at"]),
        reason=row["reason"],
    )
