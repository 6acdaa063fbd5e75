"""What is there, for tests of what may be missing."""

from typing import TypeVar

T = TypeVar("T")


def present(found: T | None) -> T:
    """The value itself, which a test needs."""
    assert found is not None
    return found
