"""The tables [webhooks.NAME] of the service's configuration."""

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from runners.toml_file import ClusterFileError, Part

EventName = Literal["done", "failed", "slower"]
"""A campaign is done, has failed, or is a check that found the machine slower than its baseline."""
SHORTEST_SECRET = 16
"""Characters."""


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.port != 0 and bool(parts.hostname)
    except ValueError:
        usable = False
    else:
        usable = usable and parts.scheme in {"http", "https"} and text.isascii() and text.isprintable()
    if not usable or " " in text:
        raise ValueError("expected an address that begins with https:// or http://")
    if parts.username is not None or parts.fragment:
        raise ValueError("leave user names and # out: the receiver knows hpltune by its signature")
    return text


class WebhookTable(Part):
    """One webhook.

    Attributes:
        url: where messages are posted.
        secret_file: holds the text that messages are signed with.
        events: what is told.
    """

    url: Annotated[str, AfterValidator(_url)]
    secret_file: Path
    events: tuple[EventName, ...] = Field(default=("done", "failed", "slower"), min_length=1)

    @property
    def place(self) -> str:
        """The address without its path and query, which may hold a secret of the receiver."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def secret(self) -> bytes:
        """Read the secret.

        Raises:
            ClusterFileError: the file cannot be read, or holds too little.
        """
        try:
            text = self.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            said = getattr(error, "strerror", None) or "it is no text"
            raise ClusterFileError(f"cannot read {self.secret_file}: {said}") from error
        if len(text) < SHORTEST_SECRET:
            raise ClusterFileError(f"{self.secret_file} holds fewer than {SHORTEST_SECRET} characters")
        return text.encode()

    def anchored(self, name: str, folder: Path) -> Self:
        """Return the same with its file relative to a folder; the secret must be there.

        Raises:
            ClusterFileError: it is not; the sentence begins with the key.
        """
        found = self.model_copy(update={"secret_file": folder / self.secret_file})
        try:
            found.secret()
        except ClusterFileError as error:
            raise ClusterFileError(f"webhooks.{name}.secret_file: {error}") from error
        return found
