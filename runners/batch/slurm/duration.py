"""Durations as Slurm prints them: "45", "5:00", "1:30:00", "2-03:00:00", "infinite"."""

import math
import re

_SPAN = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_ENDLESS = {"infinite", "UNLIMITED"}


def parse_span_s(text: str) -> float | None:
    """Parse a duration to seconds: `math.inf` for no limit, None if it is not known ("NOT_SET", "INVALID", "N/A")."""
    if text in _ENDLESS:
        return math.inf
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def minutes(seconds: float) -> int:
    """Round up to whole minutes, which Slurm's `--time` takes."""
    return max(1, math.ceil(seconds / 60))
