"""Where the processes of campaigns write what they say."""

from collections.abc import Sequence
from pathlib import Path

from results.store.store import Store

from ...database import folder_of
from ...study.names import study_folder
from ...user_dirs import UserDirs

MOST_BYTES = 64_000
"""Of the end of a log that is read."""


def log_file(store: Store, user_dirs: UserDirs, name: str) -> Path:
    """The file of a campaign's log; its folder may not be there yet."""
    return folder_of("campaigns", store, user_dirs) / f"{study_folder(name)}.log"


def last_lines(file: Path, count: int, begins_at: int = 0) -> Sequence[str]:
    """The last lines of a log; none where there is no log.

    Args:
        begins_at: where that of one process begins.
    """
    try:
        with file.open("rb") as opened:
            opened.seek(max(begins_at, file.stat().st_size - MOST_BYTES))
            text = opened.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-count:]
