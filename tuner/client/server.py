"""Which service is asked, and with which token."""

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx2

from ..errors import UsageError
from ..user_dirs import UserDirs

EXAMPLE = "http://127.0.0.1:8475"
TOKEN, TOKEN_FILE = "HPLTUNE_TOKEN", "token"
_TOKEN = re.compile(r"[\x21-\x7e]+")
HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Server:
    """A service.

    Attributes:
        url: its address, without a slash at the end.
        token: what it is told of who asks; None tells nothing.
    """

    url: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def at(cls, url: str, token: str | None = None) -> Self:
        """Check an address.

        Args:
            token: None takes the user's own: HPLTUNE_TOKEN, or the file `token` in hpltune's data folder.

        Raises:
            UsageError: it is none, or the token cannot be used.
        """
        try:
            parsed = httpx2.URL(url)
            good = parsed.scheme in {"http", "https"} and bool(parsed.host) and not (parsed.query or parsed.fragment)
        except httpx2.InvalidURL:
            good = False
        if not good:
            raise UsageError(f"{url!r} is no address of a service: write one such as {EXAMPLE}")
        if parsed.userinfo:
            raise UsageError(f"an address of a service has no user and no password: use a token ({TOKEN})")
        return cls(url.rstrip("/"), _legal(token, "the token") if token is not None else _of_user())

    @property
    def open_to_readers(self) -> bool:
        """Whether others in the network may read the token on its way."""
        parsed = httpx2.URL(self.url)
        return self.token is not None and parsed.scheme == "http" and parsed.host not in HERE


def _of_user() -> str | None:
    """The user's token, or None.

    Raises:
        UsageError: there is one that cannot be used.
    """
    given = os.environ.get(TOKEN)
    if given:
        return _legal(given.strip(), TOKEN)
    file = UserDirs.of_user(to_read=True).data / TOKEN_FILE
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the file of the token, {file}, cannot be read: {why}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"others may read the file of the token: chmod 600 {file}")
    return _legal(text.strip(), str(file))


def _legal(token: str, where: str | Path) -> str:
    if _TOKEN.fullmatch(token) is None:
        raise UsageError(f"{where} holds no token: it is one word, as `hpltune token create` printed it")
    return token
