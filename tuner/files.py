"""Writes the user's files whole or not at all."""

import os
from pathlib import Path

from .errors import TunerError


def write_text(path: Path, text: str, *, executable: bool = False) -> None:
    """Write a file beside its place and move it there.

    Raises:
        TunerError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        if executable:
            draft.chmod(0o755)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise TunerError(f"cannot write {path}: {error.strerror}") from error
