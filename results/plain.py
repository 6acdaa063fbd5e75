"""What databases and text files agree on: finite figures, Unicode text, times."""

import math
from datetime import UTC, datetime


def finite(figure: float | None) -> float | None:
    """The figure, or None where it is infinite or not a number."""
    return figure if figure is not None and math.isfinite(figure) else None


def unicode_text(text: str) -> str:
    r"""The text, with what not every database can hold as its escape: `\udc80` (odd file names), `\x00` (garbage)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", r"\x00")


def time_text(moment: datetime) -> str:
    """UTC in a fixed width, so that text sorts as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
