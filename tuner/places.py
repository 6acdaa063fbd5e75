"""Where hpltune keeps what it makes."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from .errors import TunerError


@dataclass(frozen=True)
class Places:
    """Two folders of the user's.

    Attributes:
        cache: what can be made again: builds, HPL's source, probes, and the private prefix of `hpltune setup`.
        data: what cannot: the database, the folders of runs, the best files.
    """

    cache: Path
    data: Path

    @classmethod
    def of_user(cls) -> "Places":
        """The user's folders: HPLTUNE_CACHE and HPLTUNE_DATA, or those the XDG variables name.

        Raises:
            TunerError: one of them cannot be made or written.
        """
        cache = Path(os.environ.get("HPLTUNE_CACHE") or platformdirs.user_cache_path("hpltune"))
        data = Path(os.environ.get("HPLTUNE_DATA") or platformdirs.user_data_path("hpltune"))
        for folder, variable in ((cache, "HPLTUNE_CACHE"), (data, "HPLTUNE_DATA")):
            _writable(folder, variable)
        return cls(cache.absolute(), data.absolute())

    @property
    def prefix(self) -> Path | None:
        """The private prefix, where `hpltune setup` made one."""
        prefix = self.private_prefix
        return prefix if prefix.is_dir() else None

    @property
    def private_prefix(self) -> Path:
        """Where the private prefix is or would be."""
        return self.cache / "prefix"

    @property
    def database(self) -> Path:
        """The database that commands use without --db."""
        return self.data / "hpltune.db"


def _writable(folder: Path, variable: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunerError(f"cannot make the folder {folder} ({error.strerror}): set {variable} to another") from error
    if not os.access(folder, os.W_OK):
        raise TunerError(f"the folder {folder} cannot be written: set {variable} to another")
