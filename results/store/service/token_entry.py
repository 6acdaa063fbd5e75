"""What the store knows of a token; the token itself it does not know."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .access import AccessScope


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
        expired = self.expires_at is not None and self.expires_at <= now
        return TokenState.EXPIRED if expired else TokenState.VALID
