"""Browsers that have signed in: a signed cookie, and signed tokens of forms."""

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

from results.store.service.token_entry import TokenEntry

LASTS = timedelta(hours=12)
"""Time after which one signs in again."""
KEY_BYTES = 32


@dataclass(frozen=True)
class BrowserSession:
    """A browser that has signed in with a token.

    Attributes:
        id: of this session; no two have the same.
        token_hash: of the token; where that ends, the session ends.
    """

    id: str
    token_hash: str
    ends_at: datetime


class SessionKeeper:
    """Writes and reads cookies and tokens of forms, with a key that nobody else knows."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_folder(cls, folder: Path) -> "SessionKeeper":
        """Use the key in a folder, so that sessions outlive the server; a new one where none can be kept there."""
        file = folder / "service.key"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=folder) as fresh:  # only its owner can read it
                fresh.write(secrets.token_bytes(KEY_BYTES))
                fresh.flush()
                file.hardlink_to(fresh.name)  # unless there is one
        try:
            key = file.read_bytes()
        except OSError:
            key = b""
        return cls(key if len(key) == KEY_BYTES else secrets.token_bytes(KEY_BYTES))

    def begin(self, entry: TokenEntry) -> tuple[str, BrowserSession]:
        """Begin a session for a token, and return its cookie, too."""
        ends_at = datetime.now(UTC) + LASTS
        if entry.expires_at is not None:
            ends_at = min(ends_at, entry.expires_at)
        session = BrowserSession(secrets.token_urlsafe(16), entry.hash, ends_at)
        content = json.dumps([session.id, session.token_hash, ends_at.timestamp()]).encode()
        text = urlsafe_b64encode(content).decode().rstrip("=")
        return f"{text}.{self._signature('session', text)}", session

    def read(self, cookie: str) -> BrowserSession | None:
        """Read the session of a cookie; None where it has ended, or where we did not write it."""
        text, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature("session", text).encode()):
            return None
        id_, token_hash, ends = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        session = BrowserSession(id_, token_hash, datetime.fromtimestamp(ends, UTC))
        return session if session.ends_at > datetime.now(UTC) else None

    def form_token(self, binding: str) -> str:
        """Return the token for the forms of somebody: nobody else's has the same."""
        return self._signature("form", binding)

    def _signature(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode("utf-8", "replace"), "sha256").hexdigest()
