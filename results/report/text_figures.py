"""Figures of a few characters: a line of small blocks, columns of a histogram, and a bar in a cell of a table."""

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
HIGH = 5
"""Lines of the highest column of a histogram."""
WIDE, WIDEST = 60, 3
"""Characters of all columns of a histogram, and of one at most."""
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


def text_lines(figure: Figure) -> list[str]:
    """Write a figure in characters: its first line, or else the columns of its first series; [] where it has none."""
    line = spark_line(figure)
    return [line] if line else _histogram(figure)


def _histogram(figure: Figure) -> list[str]:
    """Write columns above an axis that names the first, the middle and the last of them."""
    columns = next((one for one in figure.series if not one.line and any(one.y)), None)
    if columns is None:
        return []
    most, count = max(columns.y), len(columns.y)
    wide = max(1, min(WIDEST, WIDE // count))
    margin = len(f"{most:.4g}")
    lines = [f"{figure.title} ({figure.y_axis})"]
    for row in reversed(range(HIGH)):
        named = f"{most:.4g}" if row == HIGH - 1 else ""
        blocks = "".join(wide * _part_of_column(y / most, row) for y in columns.y)
        lines.append(f"{named:>{margin}} │{blocks}".rstrip())
    lines.append(f"{'0':>{margin}} └{'─' * (wide * count)}")
    first, middle, last = (str(columns.x[place]) for place in (0, count // 2, -1))
    named = f"{first:<{wide * (count // 2)}}{middle}"
    lines.append(f"{'':>{margin}}  {named:<{max(len(named) + 1, wide * count - len(last))}}{last}  {figure.x_axis}")
    return lines


def _part_of_column(part: float, row: int) -> str:
    """Return the block of a column in a line, counted from below; a column above 0 shows an eighth at least."""
    eighths = max(1, round(8 * HIGH * part)) if part > 0.0 else 0
    return f" {LEVELS}"[min(8, max(0, eighths - 8 * row))]


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
