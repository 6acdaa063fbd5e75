"""Cursors: where a page of a list ended, as text that callers hand back as it is."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime

from ..problems import Problem

LARGEST = 2**31 - 1
"""Number of a trial that every kind of database takes."""


def campaign_cursor(place: tuple[datetime, str]) -> str:
    """Write the place of a campaign in the order of time."""
    return _written([place[0].isoformat(), place[1]])


def campaign_place(cursor: str) -> tuple[datetime, str]:
    """Read the place of a campaign.

    Raises:
        Problem: no list of campaigns gave this cursor.
    """
    match _read(cursor):
        case [str(text), str(name)] if name.isprintable():
            try:
                created_at = datetime.fromisoformat(text)
                return created_at.replace(tzinfo=created_at.tzinfo or UTC).astimezone(UTC), name
            except (ValueError, OverflowError):
                raise _foreign() from None
    raise _foreign()


def trial_cursor(number: int) -> str:
    """Write the number of a trial."""
    return _written([number])


def trial_place(cursor: str) -> int:
    """Read the number of a trial.

    Raises:
        Problem: no list of trials gave this cursor.
    """
    match _read(cursor):
        case [int(number)] if type(number) is int and 0 <= number <= LARGEST:
            return number
    raise _foreign()


def _written(place: list[object]) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read(cursor: str) -> object:
    try:
        return json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _foreign() from None


def _foreign() -> Problem:
    return Problem(400, "The cursor is none of this list: take `next_cursor` of the page before as it is.")
