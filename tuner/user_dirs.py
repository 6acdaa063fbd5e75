"""Where hpltune keeps what it makes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from hpl.private_files import private_file, private_folder

from .errors import TunerError


@dataclass(frozen=True)
class UserDirs:
    """Two folders of the user's.

    Attributes:
        cache: what can be made again: builds, HPL's source, probes, and the private prefix of `hpltune setup`.
        data: what cannot: the database, the folders of runs, the best files.
    """

    cache: Path
    data: Path

    @classmethod
    def of_user(cls, *, to_read: bool = False) -> "UserDirs":
        """The user's folders: HPLTUNE_CACHE and HPLTUNE_DATA, or those the XDG variables name.

        Args:
            to_read: nothing will be written there.

        Raises:
            TunerError: one of them cannot be made or written, where it has to be.
        """
        folder = _named if to_read else _writable
        cache = folder("HPLTUNE_CACHE", platformdirs.user_cache_path("hpltune"))
        data = folder("HPLTUNE_DATA", platformdirs.user_data_path("hpltune"))
        return cls(cache, data)

    @property
    def shared(self) -> tuple[Path, ...]:
        """What all nodes of a cluster must see: the folders of runs and of builds."""
        return self.data / "runs", self.cache / "builds"

    @property
    def copies(self) -> Path:
        """The records of what was copied to nodes."""
        return self.data / "copies"

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
    def compiler(self) -> Path:
        """Where the private prefix has, or would have, its C compiler."""
        return self.private_prefix / "bin/cc"

    @property
    def manifest(self) -> Path:
        """The file that remembers which system packages `hpltune setup` installed."""
        return self.data / "setup.json"

    @property
    def database(self) -> Path:
        """The database that commands use without --db."""
        return self.data / "hpltune.db"


def _named(variable: str, default: Path) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()


def _writable(variable: str, default: Path) -> Path:
    """The folder a variable names, or the default; where it is missing it is made, and only its owner can read it."""
    folder = Path(os.environ.get(variable) or default)
    if not str(folder).isprintable():
        raise TunerError(f"the folder {str(folder)!r} has a name that cannot be printed: set {variable} to another")
    try:
        folder = folder.expanduser().absolute()
        private_folder(folder)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise TunerError(f"cannot make the folder {folder} ({why}): set {variable} to another") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TunerError(f"the folder {folder} cannot be written: set {variable} to another")
    return folder


@contextmanager
def hold_folders(places: UserDirs, *, alone: bool = False) -> Iterator[None]:
    """Work in the folders while the block runs; the kernel forgets a process that was killed.

    Args:
        alone: with nobody else, and who comes later waits.

    Raises:
        TunerError: somebody else works there who must not.
    """
    place = places.data / "at-work"
    private_file(place)
    with place.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        except BlockingIOError as error:
            sentence = f"hpltune is running and uses the files in {places.cache} and {places.data}"
            raise TunerError(f"{sentence}: wait until it has ended, or end it") from error
        except OSError:
            pass  # a file system without locks
        yield
