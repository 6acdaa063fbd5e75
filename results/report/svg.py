"""A figure as SVG in the colours of the page around it, with the values that a script shows."""

import io
import json
import re
from dataclasses import dataclass
from html import escape
from typing import Any

from .drawing import SIZE_INCHES, DrawnValue, draw, height_inches
from .drawing import STYLE as DRAWING
from .model import Drawable

INK = "#010203"
"""Stands for the colour of the page's text, which the page knows."""
GRID = "#040506"
"""Stands for the colour of the page's lines."""
LINES = 'stroke-linejoin="round" stroke-linecap="butt"'
"""What matplotlib's style sheet says of every line."""
POINTS_PER_INCH = 72
"""The unit of length in matplotlib's SVG is a point."""
STYLE: Any = {
    **DRAWING,
    "svg.fonttype": "none",
    "svg.hashsalt": "hpltune",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
}


@dataclass(frozen=True)
class Drawn:
    """A figure for a page.

    Attributes:
        svg: the element.
        marks: JSON of what its points show: [series, x, y, text] in the SVG's own units.
    """

    svg: str
    marks: str


def svg(figure: Drawable, number: int = 1) -> Drawn:
    """Draw a figure; its colours of text and lines are those of the page.

    Args:
        number: of the figure in its page, which makes the names of its elements unique.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - half a second that only a page needs
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    height = height_inches(figure)
    with rc_context(STYLE):
        canvas = Canvas(figsize=(SIZE_INCHES[0], height), dpi=POINTS_PER_INCH, layout="constrained")
        axes = canvas.subplots()
        marks = draw(figure, axes)
        text = io.StringIO()
        canvas.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        places: Any = axes.transData.transform([(mark.x, mark.y) for mark in marks]) if marks else []
    shown = [_shown(mark, place, height) for mark, place in zip(marks, places, strict=True)]
    return Drawn(
        _of_the_page(text.getvalue(), figure.title, number),
        json.dumps(shown, separators=(",", ":"), ensure_ascii=False),
    )


def _shown(mark: DrawnValue, place: Any, height_inches: float) -> list[object]:
    """Return a mark with its place from the upper left corner, to a tenth of a point."""
    x, y = place
    return [mark.series, round(float(x), 1), round(height_inches * POINTS_PER_INCH - float(y), 1), mark.text]


def _of_the_page(drawn: str, title: str, number: int) -> str:
    """Keep the SVG element alone, with the page's colours, as wide as the page allows and with names of its own."""
    start = drawn.index("<svg")
    body = drawn[start:].replace(INK, "currentColor").replace(GRID, "var(--line)")
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>f{number}-", body)
    body = re.sub(r" ?font-family: [^;\"]*;", "", body)
    body = re.sub(r"<style[^>]*>.*?</style>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r' style="([^"]*)"', _attributes, body)
    body = re.sub(r"\n\s*", "\n", body)
    head, _, rest = body.partition(">")
    kept = " ".join(word for word in head.split() if not word.startswith(("width=", "height=")))
    return f'{kept} {LINES} role="img" aria-label="{escape(title, quote=True)}">{rest}'


def _attributes(style: re.Match[str]) -> str:
    """Write a style as attributes: a server's page forbids styles that are not in its own style sheet."""
    said = (one.partition(":") for one in style[1].split(";") if one.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in said)
