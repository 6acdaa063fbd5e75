"""The tokens that open the service: the store keeps only their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from secrets import token_urlsafe

from sqlalchemy import Connection, RowMapping, delete, insert, or_, select, update

from ...errors import ResultsError
from ...plain import moment_of, time_text
from ..database import Database
from ..schema import TOKENS


class AccessScope(StrEnum):
    """What somebody may do; each one may do what those before it may, too."""

    READ = "read"
    RUN = "run"
    ADMIN = "admin"

    def covers(self, needed: AccessScope) -> bool:
        """Return whether somebody with this scope may do what needs another."""
        order = list(AccessScope)
        return order.index(self) >= order.index(needed)


class TokenState(StrEnum):
    """Whether a token opens the service."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True)
class TokenEntry:
    """A token as it is stored.

    Attributes:
        name: of the user or program that has it.
        hash: of the token, by which it is found.
        expires_at: when it stops working; None never.
        used_at: when it was last used, to a minute; None where it never was.
    """

    name: str
    hash: str
    scope: AccessScope
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None

    def state(self, now: datetime) -> TokenState:
        """Return whether the token opens the service now."""
        if self.revoked_at is not None:
            return TokenState.REVOKED
        return TokenState.EXPIRED if self.expires_at is not None and self.expires_at <= now else TokenState.VALID


PREFIX = "hpltune_"
"""Of every token, so that people and scanners of source code know one when they see it."""
SECRET_BYTES = 32
USE_PRECISION = timedelta(minutes=1)
"""The use of a token is written at most once in this time."""


class UnknownTokenError(ResultsError):
    """There is no token of that name."""


def token_hash(token: str) -> str:
    """Return the hash by which a token is found.

    A token has 256 random bits, which nobody can guess, so that SHA-256 without salt and repetition is enough; slow
    hashes protect passwords, which people choose.
    """
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class TokenBook:
    """The methods of a store for tokens; each is one transaction."""

    database: Database

    def create(self, name: str, scope: AccessScope, expires_at: datetime | None) -> tuple[TokenEntry, str]:
        """Make a token, and return it too: it can never be read again.

        Raises:
            ResultsError: a token that still works has this name.
        """
        token = PREFIX + token_urlsafe(SECRET_BYTES)
        now = datetime.now(UTC)
        row = {
            "name": name,
            "hash": token_hash(token),
            "scope": scope,
            "created_at": time_text(now),
            "expires_at": None if expires_at is None else time_text(expires_at),
        }
        with self.database.alone() as connection:
            known = _named(connection, name)
            if known is not None and _entry(known).state(now) is TokenState.VALID:
                raise ResultsError(f"there is a token {name} already: choose another name, or revoke it first")
            connection.execute(delete(TOKENS).where(TOKENS.c.name == name))
            connection.execute(insert(TOKENS).values(**row))
            return _entry(_existing(connection, name)), token

    def entries(self) -> Sequence[TokenEntry]:
        """Read all tokens in the order of their names."""
        with self.database.reading() as connection:
            return [_entry(row) for row in connection.execute(select(TOKENS).order_by(TOKENS.c.name)).mappings()]

    def exist(self) -> bool:
        """Return whether there is any token; also one that does not work any more closes the service."""
        with self.database.reading() as connection:
            return connection.execute(select(TOKENS.c.name).limit(1)).first() is not None

    def find(self, token: str) -> TokenEntry | None:
        """Read what is known of a token; None where it is unknown."""
        return self.of_hash(token_hash(token))

    def of_hash(self, digest: str) -> TokenEntry | None:
        """Read what is known of the token with this hash; None where it is unknown."""
        with self.database.reading() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.hash == digest)).mappings().first()
        return None if row is None else _entry(row)

    def revoke(self, name: str) -> TokenEntry:
        """Let a token open nothing from now on.

        Raises:
            UnknownTokenError: there is no token of this name.
        """
        with self.database.alone() as connection:
            _existing(connection, name)
            here = (TOKENS.c.name == name) & TOKENS.c.revoked_at.is_(None)
            connection.execute(update(TOKENS).where(here).values(revoked_at=time_text(datetime.now(UTC))))
            return _entry(_existing(connection, name))

    def note_use(self, entry: TokenEntry) -> None:
        """Store that a token is used now, unless it was within the last minute."""
        now = datetime.now(UTC)
        before = now - USE_PRECISION
        if entry.used_at is not None and entry.used_at > before:
            return
        long_ago = or_(TOKENS.c.used_at.is_(None), TOKENS.c.used_at <= time_text(before))
        with self.database.writing() as connection:
            here = (TOKENS.c.hash == entry.hash) & long_ago
            connection.execute(update(TOKENS).where(here).values(used_at=time_text(now)))


def _named(connection: Connection, name: str) -> RowMapping | None:
    return connection.execute(select(TOKENS).where(TOKENS.c.name == name)).mappings().first()


def _existing(connection: Connection, name: str) -> RowMapping:
    row = _named(connection, name)
    if row is None:
        raise UnknownTokenError(f"there is no token {name}: `hpltune token list` lists all")
    return row


def _entry(row: RowMapping) -> TokenEntry:
    return TokenEntry(
        name=row["name"],
        hash=row["hash"],
        scope=AccessScope(row["scope"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        expires_at=moment_of(row["expires_at"]),
        revoked_at=moment_of(row["revoked_at"]),
        used_at=moment_of(row["used_at"]),
    )
