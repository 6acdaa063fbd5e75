"""Makes folders and files that only their owner can read and change, whatever the umask."""

import os
import stat
from contextlib import suppress
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""The permissions of everybody who is not the owner."""


def private_folder(folder: Path) -> None:
    """Make a folder, and those missing above it, with the mode 0700; one that is there stays as it is.

    Raises:
        OSError: it cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    folder.mkdir(exist_ok=True)  # a file in its place is told as an error


def private_file(file: Path) -> None:
    """Make an empty file with the mode 0600; one that is there stays as it is, and an error is left to who opens it."""
    with suppress(OSError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR))


def open_to_others(path: Path) -> str:
    """Return the mode of a file or folder, as `chmod` takes it, if others than its owner may use it; else ""."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        return f"{mode:04o}" if mode & OTHERS else ""
    return ""
