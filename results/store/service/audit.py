"""Who did what through the service, and who was refused; rows are only added."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import ColumnElement, insert, or_, select

from ...plain import time_text, unicode_text
from ..database import Database
from ..schema import AUDIT

AuditPlace = tuple[datetime, str]
"""Where an action stands in the order of time: when it was done, and its id."""


@dataclass(frozen=True)
class AuditedAction:
    """What somebody did, or tried to do; nothing in it is secret.

    Attributes:
        who: name of the token or user; "" where nobody knows.
        address: from which the request came; "" for the command line.
        action: what was done, as "POST /api/v1/campaigns" or "token create".
        target: to what, as the name of a campaign or token.
        status: of HTTP.
        detail: a sentence; "" for none.
    """

    who: str
    address: str
    action: str
    target: str
    status: int
    detail: str = ""


@dataclass(frozen=True)
class AuditRow:
    """An action as it is stored."""

    id: str
    at: datetime
    noted: AuditedAction

    @property
    def place(self) -> AuditPlace:
        """Where it stands in the order of time."""
        return self.at, self.id


@dataclass(frozen=True)
class AuditAsked:
    """Which actions to read; what is empty takes all.

    Attributes:
        who: a part of the name of who did it, in any case of letters.
        what: a part of the action or of its target.
        actions: further ones that are taken where `what` is given.
        since: done then or later.
        until: done before then.
    """

    who: str = ""
    what: str = ""
    actions: Collection[str] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class AuditLog:
    """The methods of a store for actions; each is one transaction."""

    database: Database

    def note(self, done: AuditedAction) -> None:
        """Store an action that was done now."""
        row = {
            "id": uuid4().hex,
            "at": time_text(datetime.now(UTC)),
            "who": unicode_text(done.who),
            "address": unicode_text(done.address),
            "action": unicode_text(done.action),
            "target": unicode_text(done.target),
            "status": done.status,
            "detail": unicode_text(done.detail),
        }
        with self.database.writing() as connection:
            connection.execute(insert(AUDIT).values(**row))

    def newest(
        self, count: int, before: AuditPlace | None = None, asked: AuditAsked | None = None
    ) -> Sequence[AuditRow]:
        """Read actions, newest first.

        Args:
            before: only those that are older than this place; None begins with the newest.
            asked: which; None takes all.
        """
        query = (
            select(AUDIT)
            .where(*_conditions(asked or AuditAsked()))
            .order_by(AUDIT.c.at.desc(), AUDIT.c.id.desc())
            .limit(count)
        )
        if before is not None:
            at = time_text(before[0])
            query = query.where(or_(AUDIT.c.at < at, (AUDIT.c.at == at) & (AUDIT.c.id < before[1])))
        with self.database.reading() as connection:
            return [
                AuditRow(row.id, datetime.fromisoformat(row.at), AuditedAction(*row[2:]))
                for row in connection.execute(query)
            ]


def _conditions(asked: AuditAsked) -> Iterator[ColumnElement[bool]]:
    """Yield what actions must fulfil in SQL."""
    if asked.who:
        yield AUDIT.c.who.icontains(asked.who, autoescape=True)
    if asked.what:
        named = [column.icontains(asked.what, autoescape=True) for column in (AUDIT.c.action, AUDIT.c.target)]
        yield or_(*named, AUDIT.c.action.in_(asked.actions))
    if asked.since is not None:
        yield AUDIT.c.at >= time_text(asked.since)
    if asked.until is not None:
        yield AUDIT.c.at < time_text(asked.until)
