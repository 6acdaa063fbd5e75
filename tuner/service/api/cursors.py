"""Cursors: where a page of a list ended, as text that callers hand back as it is."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from pydantic import AwareDatetime, ConfigDict, Field, TypeAdapter

from ..problems import Problem

T = TypeVar("T")
LARGEST = 2**31 - 1
"""Number of a trial that every kind of database takes."""
_STRICT = ConfigDict(strict=True)
_CAMPAIGN = TypeAdapter(tuple[AwareDatetime, str], config=_STRICT)
_TRIAL = TypeAdapter(tuple[Annotated[int, Field(ge=0, le=LARGEST)]], config=_STRICT)


def campaign_cursor(place: tuple[datetime, str]) -> str:
    """Write the place of a campaign in the order of time."""
    return _written(_CAMPAIGN.dump_json(place))


def campaign_place(cursor: str) -> tuple[datetime, str]:
    """Read the place of a campaign.

    Raises:
        Problem: no list of campaigns gave this cursor.
    """
    created_at, name = _read(_CAMPAIGN, cursor)
    try:
        created_at = created_at.astimezone(UTC)
    except OverflowError:
        raise _foreign() from None
    if not name.isprintable():
        raise _foreign()
    return created_at, name


def trial_cursor(number: int) -> str:
    """Write the number of a trial."""
    return _written(_TRIAL.dump_json((number,)))


def trial_place(cursor: str) -> int:
    """Read the number of a trial.

    Raises:
        Problem: no list of trials gave this cursor.
    """
    return _read(_TRIAL, cursor)[0]


def _written(place: bytes) -> str:
    return urlsafe_b64encode(place).decode().rstrip("=")


def _read(kind: TypeAdapter[T], cursor: str) -> T:
    try:
        return kind.validate_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        raise _foreign() from None


def _foreign() -> Problem:
    return Problem(400, "The cursor is none of this list: take `next_cursor` of the page before as it is.")
