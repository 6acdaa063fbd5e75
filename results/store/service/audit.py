"""Who did what through the service, and who was refused; rows are only added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import RowMapping, insert, or_, select

from ...plain import time_text, unicode_text
from ..networks import Transaction
from ..schema import AUDIT

AuditPlace = tuple[datetime, str]
"""Where a deed stands in the order of time: when it was done, and its id."""


@dataclass(frozen=True)
class Deed:
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
    """A deed as it is stored."""

    id: str
    at: datetime
    deed: Deed

    @property
    def place(self) -> AuditPlace:
        """Where it stands in the order of time."""
        return self.at, self.id


@dataclass(frozen=True)
class AuditLog:
    """The methods of a store for deeds; each is one transaction."""

    reading: Transaction
    writing: Transaction

    def note(self, deed: Deed) -> None:
        """Store a deed that was done now."""
        row = {
            "id": uuid4().hex,
            "at": time_text(datetime.now(UTC)),
            "who": unicode_text(deed.who),
            "address": unicode_text(deed.address),
            "action": unicode_text(deed.action),
            "target": unicode_text(deed.target),
            "status": deed.status,
            "detail": unicode_text(deed.detail),
        }
        with self.writing() as connection:
            connection.execute(insert(AUDIT).values(**row))

    def newest(self, count: int, before: AuditPlace | None = None) -> Sequence[AuditRow]:
        """Read deeds, newest first.

        Args:
            before: only those that are older than this place; None begins with the newest.
        """
        query = select(AUDIT).order_by(AUDIT.c.at.desc(), AUDIT.c.id.desc()).limit(count)
        if before is not None:
            at = time_text(before[0])
            query = query.where(or_(AUDIT.c.at < at, (AUDIT.c.at == at) & (AUDIT.c.id < before[1])))
        with self.reading() as connection:
            return [_audit_row(row) for row in connection.execute(query).mappings()]


def _audit_row(row: RowMapping) -> AuditRow:
    told = (row[name] for name in ("who", "address", "action", "target", "status", "detail"))
    return AuditRow(row["id"], datetime.fromisoformat(row["at"]), Deed(*told))
