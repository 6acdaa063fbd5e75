"""Who works in hpltune's folders, so that `clean` takes them from nobody."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from hpl.private_files import private_file

from .errors import TunerError
from .user_dirs import UserDirs


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
