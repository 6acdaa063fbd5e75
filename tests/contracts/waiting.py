"""Waiting for what happens soon, or on a machine that is ten times slower, late."""

import inspect
import time
from collections.abc import Callable

PATIENCE_S = 240
"""Seconds after which a test believes that something will never happen; only a test that fails waits so long."""


def until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Return as soon as a condition holds; a test fails, and says what it waited for, where that takes too long."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for: {inspect.getsource(condition).strip()}"
        time.sleep(0.05)
