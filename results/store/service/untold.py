"""Ends of campaigns that are still to be told by a notification."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update

from ..networks import Transaction
from ..schema import CAMPAIGNS
from .campaign_entry import EndEvent


@dataclass(frozen=True)
class UntoldEnds:
    """The methods of a store for what is to be told of ends; each is one transaction.

    Attributes:
        alone: a transaction that no other process is in at the same time.
    """

    reading: Transaction
    writing: Transaction
    alone: Transaction

    def take(self) -> tuple[str, EndEvent] | None:
        """Take the end that waits longest, with its campaign; no other process gets it then. None where none waits."""
        waiting = CAMPAIGNS.c.untold.is_not(None)
        query = select(CAMPAIGNS.c.name, CAMPAIGNS.c.untold).where(waiting).order_by(CAMPAIGNS.c.ended_at).limit(1)
        with self.reading() as connection:
            if connection.execute(query).first() is None:
                return None
        with self.alone() as connection:
            row = connection.execute(query).first()
            if row is None:
                return None
            connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.name == row.name).values(untold=None))
            return row.name, row.untold

    def give_back(self, name: str, event: EndEvent) -> None:
        """Let an end wait again that this process took and has not told."""
        here = (CAMPAIGNS.c.name == name) & CAMPAIGNS.c.untold.is_(None)
        with self.writing() as connection:
            connection.execute(update(CAMPAIGNS).where(here).values(untold=event))
