"""The identity of this machine: it is kept in the data folder, and stays the same where the host gets another name."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from hpl.private_files import private_folder

from ...errors import TunerError

FOLDER = "machines"
"""Of the data folder: a file for each machine that uses it, because hosts may share one over a network."""
SYSTEM_ID = Path("/etc/machine-id")
"""Tells apart hosts that share a data folder; containers mostly have none, and one data folder each."""


def machine_id(data: Path) -> str:
    """The identity of this machine; made where there is none yet.

    Args:
        data: the data folder.

    Raises:
        TunerError: it cannot be read or kept.
    """
    try:
        system = SYSTEM_ID.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        system = ""
    file = data / FOLDER / (sha256(system.encode()).hexdigest()[:16] if system else "this")
    try:
        return _read(file) or _made(file)
    except OSError as error:
        raise TunerError(f"the identity of this machine cannot be kept in {file}: {error.strerror}") from error


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return ""


def _made(file: Path) -> str:
    """Make an identity; of two processes that do so at once, both get that of the first."""
    private_folder(file.parent)
    own = uuid4().hex
    draft = file.with_name(f"{file.name}.{own}")
    draft.write_text(f"{own}\n", encoding="ascii")
    try:
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
    return _read(file)
