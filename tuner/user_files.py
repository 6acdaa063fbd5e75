"""Reads the user's files up to a size, and writes them whole or not at all."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .errors import TunerError, UsageError

LARGEST_BYTES = 32 * 2**20
"""HPL's longest outputs, with a line for each panel, have a few megabytes."""


def read_text(path: Path, what: str, largest_bytes: int = LARGEST_BYTES, *, field: str = "") -> str:
    """The text of a file that is not larger than any of its kind; of a larger one only so much is read.

    Args:
        what: how errors call the file, with its name.
        field: of what was asked that names the file; errors then call it so.

    Raises:
        UsageError: it cannot be read, or is larger.
    """
    head, given = ("", path) if field else (f"{what}: ", None)
    try:
        with path.open("rb") as file:
            read = file.read(largest_bytes + 1)
    except OSError as error:
        raise UsageError(f"{head}{error.strerror}", field=field, given=given) from error
    if len(read) > largest_bytes:
        limit = f"{largest_bytes / 2**20:g} MiB"
        raise UsageError(
            f"{head}the file is larger than {limit}; keep only what HPL read or printed in it", field=field, given=given
        )
    return read.decode("utf-8", errors="replace")


def require_writable(folder: Path, field: str, file: str = "") -> None:
    """Make sure that files can be written into a folder that may not be there yet; nothing is left in it.

    Args:
        field: of what was asked that named it.
        file: the name of the file that is to be in it, where that was named.

    Raises:
        UsageError: none can.
    """
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists() or one.is_symlink())
    try:
        with TemporaryDirectory(dir=there, prefix=".hpltune-"):
            pass
    except OSError as error:
        why = (
            "is a file, not a folder"
            if isinstance(error, NotADirectoryError)
            else f"cannot be written ({error.strerror})"
        )
        given = f"{file} in {folder}" if file else folder
        raise UsageError(f"{there} {why}: give another folder", field=field, given=given) from error


def require_writable_file(path: Path, field: str) -> None:
    """Make sure that a file can be written before anything runs.

    Args:
        field: of what was asked that named it.

    Raises:
        UsageError: it cannot.
    """
    if path.is_dir():
        raise UsageError(f"⟦{field}⟧ {path} is a folder: name a file in it", field=field)
    if not path.exists() or path.is_file():
        require_writable(path.resolve().parent, field, path.name)


def require_folder(path: Path) -> None:
    """Make sure that the folder of a file is there, where one that is not there is probably mistyped.

    Raises:
        UsageError: it is not, or the name is that of no file.
    """
    if str(path) == "-":
        raise UsageError("- is no name of a file: write ./- where it shall be one")
    if not path.parent.exists():
        raise UsageError(f"{path}: there is no folder {path.parent}: make it first, or name another file")


def require_new(path: Path, *, force: bool) -> None:
    """Make sure that nothing of the user's is lost where a file is written that people also write by hand.

    Args:
        force: it may be lost.

    Raises:
        UsageError: there is such a file, with something in it.
    """
    if not force and path.is_file() and path.stat().st_size:
        raise UsageError(f"{path} is there already and would be lost: give another name, or replace it with ⟦force⟧")


def write_text(path: Path, text: str, *, executable: bool = False) -> None:
    """As `write_parts`, of one text."""
    write_parts(path, [text], executable=executable)


def write_parts(path: Path, parts: Iterable[str], *, executable: bool = False) -> None:
    """Write a text file beside its place and move it there; where a link leads, or into a device or pipe.

    Raises:
        TunerError: it cannot be written.
    """
    write_byte_parts(path, (part.encode("utf-8") for part in parts), executable=executable)


def write_byte_parts(path: Path, parts: Iterable[bytes], *, executable: bool = False) -> None:
    """As `write_parts`, of parts that are no text."""
    if path.is_dir():
        raise TunerError(f"cannot write {path}: Is a directory; name a file in it")
    whole = path.is_file() or not path.exists()
    place = path.resolve() if whole else path
    draft = place.with_name(f".{place.name}.{os.getpid()}") if whole else place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.writelines(parts)
        if executable:
            draft.chmod(0o755)
        if whole:
            draft.replace(place)
    except BrokenPipeError:
        raise
    except OSError as error:
        if whole:
            with suppress(OSError):
                draft.unlink()
        among_files = isinstance(error, FileExistsError | NotADirectoryError)
        why = "what should be its folder is a file" if among_files else error.strerror
        raise TunerError(f"cannot write {path}: {why}") from error
