"""The one question that commands ask before they change or delete something."""

import sys

from ..errors import TunerError


def agreed(question: str) -> bool:
    """Whether the user says yes; everything else is a no.

    Raises:
        TunerError: nobody sits at a terminal.
    """
    if not sys.stdin.isatty():
        raise TunerError("nobody can be asked here: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
