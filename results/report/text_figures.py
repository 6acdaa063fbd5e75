"""Figures of a few characters: a line of small blocks, and a bar in a cell of a table."""

import os
from collections.abc import Sequence

from rich.console import Console

from .model import Figure

LEVELS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"
MOST = 40
"""Characters of a line."""
BAR = 8
"""Characters of a bar."""
PLAIN = frozenset({"linux", "dumb"})
"""Kinds of terminals (TERM) whose fonts do not have these characters."""


def can_draw(console: Console) -> bool:
    """Whether somebody reads this on a terminal that has the characters; a file or a program gets words only."""
    unicode = console.encoding.lower().replace("-", "").startswith("utf")
    return console.is_terminal and unicode and os.environ.get("TERM") not in PLAIN


def spark_line(figure: Figure) -> str | None:
    """Write the first line of a figure in small blocks, with its ends; None where it has none or does not change."""
    line = next((one for one in figure.series if one.line), None)
    if line is None or len(set(line.y)) < 2:
        return None
    blocks = "".join(_block(y, min(line.y), max(line.y)) for y in _evenly(line.x, line.y))
    return f"{figure.title}: {blocks} {line.y[0]:.4g} to {line.y[-1]:.4g} {figure.y_axis}"


def bar(part: float | None) -> str:
    """Write a part of 1 as a bar of at most BAR characters; "" for None."""
    if part is None:
        return ""
    eighths = round(8 * BAR * min(1.0, max(0.0, part)))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _evenly(x: Sequence[float | str], y: Sequence[float]) -> list[float]:
    """Return what a line had reached at some places with the same distance on the axis."""
    places = [float(place) for place in x]
    first, last, count = places[0], places[-1], min(MOST, len(y))
    found, at = [], 0
    for step in range(1, count + 1):
        end = first + (last - first) * step / count
        while at + 1 < len(places) and places[at + 1] <= end:
            at += 1
        found.append(y[at])
    return found


def _block(value: float, least: float, most: float) -> str:
    return LEVELS[round((len(LEVELS) - 1) * (value - least) / (most - least))]
