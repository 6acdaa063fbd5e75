"""A figure as SVG: what a page shows without JavaScript and in print."""

import io
from typing import Any

from ..model import Figure

COLOURS = ("#2f7ebc", "#c8641b", "#3f8f4f", "#a05fb4", "#8a7a1c", "#b8435a")
"""Of series, in their order: each has a contrast of at least 3 to 1 against the light and the dark page."""
INK = "#010203"
"""Stands for the colour of the page's text, which the page knows."""
GRID = "#040506"
"""Stands for the colour of the page's lines."""
MOST_LABELS = 12
"""Points whose labels still fit beside each other."""


def svg(figure: Figure) -> str:
    """Draw a figure; its colours of text and lines are those of the page around it."""
    from matplotlib import rc_context  # noqa: PLC0415 - half a second that only a page needs
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": figure.title,
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GRID,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
    }
    with rc_context(style):
        canvas = Canvas(figsize=(7.2, 3.8), layout="constrained")
        axes = canvas.subplots()
        named = list(dict.fromkeys(x for one in figure.series for x in one.x if isinstance(x, str)))
        drawn = [one for one in figure.series if one.x]
        for number, one in enumerate(drawn):
            colour = COLOURS[number % len(COLOURS)]
            if named and not one.line:
                width = 0.8 / len(drawn)
                left = [named.index(str(x)) + (number - (len(drawn) - 1) / 2) * width for x in one.x]
                axes.bar(left, one.y, width=width, color=colour, label=one.name)
                continue
            places = [float(named.index(x)) if isinstance(x, str) else x for x in one.x]
            axes.plot(places, one.y, "o-" if one.line else "o", color=colour, label=one.name, markersize=5)
            if len(one.labels) <= MOST_LABELS:
                for x, y, label in zip(places, one.y, one.labels, strict=False):
                    axes.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
        if named:
            axes.set_xticks(range(len(named)), named, rotation=0 if max(map(len, named)) * len(named) < 80 else 30)
        axes.set_xlabel(figure.x_axis)
        axes.set_ylabel(figure.y_axis)
        axes.grid(axis="y", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if len(drawn) > 1:
            axes.legend(frameon=False, loc="best")
        text = io.StringIO()
        canvas.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Title": figure.title})
    return _of_the_page(text.getvalue())


def _of_the_page(drawn: str) -> str:
    """Keep the SVG element alone, with the page's colours, as wide as the page allows."""
    start = drawn.index("<svg")
    body = drawn[start:].replace(INK, "currentColor").replace(GRID, "var(--line)")
    head, _, rest = body.partition(">")
    kept = " ".join(word for word in head.split() if not word.startswith(("width=", "height=")))
    return f'{kept} role="img">{rest}'
