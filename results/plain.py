"""Converts figures, texts and times to forms that all databases and text files can store."""

import math
import sys
from collections.abc import Mapping
from datetime import UTC, datetime


def finite_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return named figures without what is no finite number, as in a damaged row."""
    return {
        name: figure
        for name, figure in figures.items()
        if isinstance(figure, float | int) and abs(figure) <= sys.float_info.max
    }


def finite(figure: float | None) -> float | None:
    """Return the figure, or None if it is infinite or NaN."""
    return figure if figure is not None and math.isfinite(figure) else None


def unicode_text(text: str) -> str:
    r"""Replace characters that not every database can store by escapes: `\udc80` (odd file names), `\x00` (garbage)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", r"\x00")


def time_text(moment: datetime) -> str:
    """UTC in a fixed width, so that text sorts as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(text: str | None) -> datetime | None:
    """Read a time that `time_text` wrote; None where there is none."""
    return datetime.fromisoformat(text) if text else None
