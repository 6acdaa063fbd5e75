"""Draws figures as a PNG, SVG or PDF picture, as a paper needs it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from ..errors import ResultsError
from .drawing import STYLE, height_inches, thinned
from .model import Drawable
from .svg_paths import short_paths
from .timeline import draw_on

ENDINGS = (".png", ".svg", ".pdf")
"""Ends of the names of files that pictures can have."""
CM_PER_INCH = 2.54
LETTERS_PER_INCH = 17
"""Of a caption below a picture with letters of 9 points, which are drawn smaller there."""
CAPTION_LINE_INCHES = 0.15
"""How much higher a picture is for each line of its caption."""


@dataclass(frozen=True)
class PictureSize:
    """How large a picture is.

    Attributes:
        width_cm: 16 fills the text of an A4 page, 8 fills one of two columns.
        dpi: dots per inch of a PNG file.
    """

    width_cm: float = 16.0
    dpi: int = 300


def picture(figures: Sequence[Drawable], ending: str, size: PictureSize) -> bytes:
    """Draw one figure, or several below each other with their titles, and return the file's content.

    Args:
        figures: at least one.
        ending: one of ENDINGS, which says of which kind the file is.

    Raises:
        ResultsError: so large a picture cannot be drawn.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - half a second that only a picture needs
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    width_inches = size.width_cm / CM_PER_INCH
    # Letters keep their size, so that a picture fits into a text of any width.
    letters = round(width_inches * LETTERS_PER_INCH * 9 / _letters_pt(size))
    below = [_below(figure, letters, titled=len(figures) == 1) for figure in figures]
    heights = [
        height_inches(figure, width_inches, _letters_pt(size)) + CAPTION_LINE_INCHES * len(lines)
        for figure, lines in zip(figures, below, strict=True)
    ]
    drawn = io.BytesIO()
    with rc_context(_style(size)):
        canvas = Canvas(figsize=(width_inches, sum(heights)), layout="constrained")
        panels = canvas.subfigures(len(figures), 1, squeeze=False, height_ratios=heights)[:, 0]
        for figure, lines, panel in zip(figures, below, panels, strict=True):
            draw_on(thinned(figure), panel, width_inches)
            if lines:
                panel.supxlabel("\n".join(lines), x=0.01, horizontalalignment="left", fontsize="small")
            if len(figures) > 1:
                panel.suptitle(figure.title, x=0.01, horizontalalignment="left", fontsize="medium", fontweight="bold")
        undated: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
        title = ", ".join(figure.title for figure in figures)
        try:
            canvas.savefig(drawn, format=ending[1:], dpi=size.dpi, metadata={"Title": title, **undated})
        except ValueError as error:  # more dots than a picture can have
            raise ResultsError(f"cannot draw a picture so large: {error}") from error
    return short_paths(drawn.getvalue().decode()).encode() if ending == ".svg" else drawn.getvalue()


def _below(figure: Drawable, letters: int, *, titled: bool) -> list[str]:
    """Return the lines below a figure: what it shows and where it is from; none where it tells neither.

    Args:
        titled: they begin with its title.
    """
    if not (figure.caption or figure.origin):
        return []
    caption = f"{figure.title}. {figure.caption}" if titled else figure.caption
    return [line for text in (caption, figure.origin) if text for line in wrap(text, letters)]


def _letters_pt(size: PictureSize) -> int:
    """Return the size of letters."""
    return 9 if size.width_cm >= 12 else 8


def _style(size: PictureSize) -> Any:
    """Return settings of matplotlib: letters as in captions, whole fonts in PDF, outlines in SVG."""
    return {
        **STYLE,
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "hpltune",
        "font.size": _letters_pt(size),
        "axes.linewidth": 0.8,
        "grid.color": "#cccccc",
    }
