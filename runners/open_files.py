"""How many files this process may have open at once: a shell often allows fewer than the system does."""

import contextlib
import resource

from .errors import RunnerError

OWN = 256
"""Files that this process has open anyway: libraries, databases, logs; a generous count."""


def raise_open_files(wanted: int) -> None:
    """Let this process, and what it starts, open as many files, where it may.

    An unlimited number stays as it is; a huge one is not asked for, because some programs close all files that they
    could have.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def require_open_files(wanted: int, what: str) -> None:
    """Refuse work for which this process may not open enough files, even where the limit is raised.

    Args:
        wanted: how many the work itself needs.
        what: the work in words, for the sentence.

    Raises:
        RunnerError: they are too few.
    """
    raise_open_files(OWN + wanted)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < OWN + wanted:
        raise RunnerError(
            f"{what} at once need {OWN + wanted:,} open files, and this host allows {soft:,}: raise the limit "
            "(`ulimit -n`, or nofile in /etc/security/limits.conf), or name fewer nodes"
        )
