"""Lets standard output and standard error take any text."""

import codecs
import io
import sys
import warnings
from contextlib import suppress
from typing import TextIO

DAMAGED = "DamagedWarning"
"""Of `results.errors`, which is not imported before it is needed."""
PLAIN = {
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{RIGHTWARDS ARROW}": "->",
}
"""What stands for characters of ours that a terminal lacks."""
SPINNER = range(0x2800, 0x2900)
"""Of Rich, in Braille."""


def print_anything() -> None:
    """Write the nearest character, or an escape, for one that the terminal lacks, so that no report fails."""
    codecs.register_error("nearest", _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="nearest")


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(letter: str) -> str:
    if ord(letter) in SPINNER:
        return "*"
    return PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode("ascii")


def tell_warnings() -> None:
    """Say on standard error which rows of a database are left out because they are damaged, each once."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category.__name__ != DAMAGED:
            usual(message, category, filename, lineno, file, line)
            return
        with suppress(OSError):
            if str(message) not in told:
                print(f"hpltune: {message}", file=sys.stderr)
        told.add(str(message))

    told: set[str] = set()
    usual, warnings.showwarning = warnings.showwarning, show
