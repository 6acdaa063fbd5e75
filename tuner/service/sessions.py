"""Browsers that have signed in: a signed cookie, and signed tokens of forms."""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from itsdangerous import BadData, Signer, URLSafeSerializer

from hpl.private_files import private_folder
from results.store.service.tokens import TokenEntry

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

    @property
    def binding(self) -> str:
        """What the tokens of its forms are bound to."""
        return f"session:{self.id}"


class SessionKeeper:
    """Writes and reads cookies and tokens of forms, with a key that nobody else knows.

    Args:
        over: a folder with an empty file for each session that ended before its time.
    """

    def __init__(self, key: bytes, over: Path) -> None:
        signing: dict[str, Any] = {"key_derivation": "hmac", "digest_method": sha256}
        self._cookies = URLSafeSerializer(key, "session", signer_kwargs=signing)
        self._forms = Signer(key, "form", **signing)
        self._over = over
        self._over_here: set[str] = set()

    @classmethod
    def of_folder(cls, folder: Path) -> "SessionKeeper":
        """Use the key in a folder, so that sessions outlive the server; a new one where none can be kept there."""
        file = folder / "service.key"
        with suppress(OSError):
            private_folder(folder)
            with NamedTemporaryFile(dir=folder) as fresh:  # only its owner can read it
                fresh.write(secrets.token_bytes(KEY_BYTES))
                fresh.flush()
                file.hardlink_to(fresh.name)  # unless there is one
        try:
            key = file.read_bytes()
        except OSError:
            key = b""
        return cls(key if len(key) == KEY_BYTES else secrets.token_bytes(KEY_BYTES), folder / "signed-out")

    def begin(self, entry: TokenEntry) -> tuple[str, BrowserSession]:
        """Begin a session for a token, and return its cookie, too."""
        ends_at = datetime.now(UTC) + LASTS
        if entry.expires_at is not None:
            ends_at = min(ends_at, entry.expires_at)
        session = BrowserSession(secrets.token_urlsafe(16), entry.hash, ends_at)
        return str(self._cookies.dumps([session.id, session.token_hash, ends_at.timestamp()])), session

    def read(self, cookie: str) -> BrowserSession | None:
        """Read the session of a cookie; None where it has ended, or where we did not write it."""
        try:
            id_, token_hash, ends = self._cookies.loads(cookie)
        except BadData:
            return None
        session = BrowserSession(id_, token_hash, datetime.fromtimestamp(ends, UTC))
        ended = session.ends_at <= datetime.now(UTC) or id_ in self._over_here or (self._over / id_).exists()
        return None if ended else session

    def end(self, cookie: str) -> None:
        """End the session of a cookie: who has a copy of it is let in by it no more.

        Where nothing can be kept in the folder, it is over until the server is started again.
        """
        session = self.read(cookie)
        if session is None:
            return
        self._over_here.add(session.id)
        with suppress(OSError):
            self._over.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._over / session.id).touch(mode=0o600)
            long_ago = (datetime.now(UTC) - LASTS).timestamp()
            for file in self._over.iterdir():
                if file.stat().st_mtime < long_ago:  # its session would have ended by itself
                    file.unlink(missing_ok=True)

    def form_token(self, binding: str) -> str:
        """Return the token for the forms of somebody: nobody else's has the same."""
        return self._forms.get_signature(_plain(binding)).decode()

    def is_form_token(self, given: str, binding: str) -> bool:
        """Whether a form has the token of somebody."""
        return self._forms.verify_signature(_plain(binding), given)


def _plain(binding: str) -> bytes:
    return binding.encode("utf-8", "replace")
