"""Waiting for what happens soon."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], timeout_s: float = 20) -> None:
    """Return as soon as a condition holds; a test fails where that takes too long."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
