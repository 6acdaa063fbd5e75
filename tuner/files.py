"""Writes the user's files whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from .errors import TunerError


def write_text(path: Path, text: str, *, executable: bool = False) -> None:
    """Write a file beside its place and move it there; where a link leads, or into a device or pipe.

    Raises:
        TunerError: it cannot be written.
    """
    if path.is_dir():
        raise TunerError(f"cannot write {path}: Is a directory; name a file in it")
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        if executable:
            draft.chmod(0o755)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        among_files = isinstance(error, FileExistsError | NotADirectoryError)
        why = "what should be its folder is a file" if among_files else error.strerror
        raise TunerError(f"cannot write {path}: {why}") from error
