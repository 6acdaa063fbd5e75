"""Waiting for what happens soon, or on a machine that is ten times slower, late."""

import inspect
import time
from collections.abc import Callable
from typing import IO

PATIENCE_S = 240
"""Seconds after which a test believes that something will never happen; only a test that fails waits so long."""


def until(condition: Callable[[], object], for_what: str = "", timeout_s: float = PATIENCE_S) -> None:
    """Return as soon as a condition holds; a test fails, and says what it waited for, where that takes too long.

    Args:
        for_what: what is waited for, where the text of the condition does not tell.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for: {for_what or _text_of(condition)}"
        time.sleep(0.05)


def heard(stream: IO[str], words: str) -> str:
    """Read the lines of a program until one has these words, and return them; a test fails where it ends before."""
    said = ""
    for line in stream:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without {words!r}: {said}")


def _text_of(condition: Callable[[], object]) -> str:
    """What stands in a lambda or function; of a method also whose it is."""
    of = getattr(condition, "__self__", None)
    if of is not None:
        return f"{of}.{getattr(condition, '__name__', '')}"
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):
        return repr(condition)
