"""Draws figures as a PNG, SVG or PDF picture, as a paper needs it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ResultsError
from .drawing import SIZE_INCHES, STYLE, draw, height_inches
from .model import Drawable
from .thinning import thinned

ENDINGS = (".png", ".svg", ".pdf")
"""Ends of the names of files that pictures can have."""
CM_PER_INCH = 2.54


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
    heights = [height_inches(figure) * max(0.75, width_inches / SIZE_INCHES[0]) for figure in figures]
    drawn = io.BytesIO()
    with rc_context(_style(size)):
        canvas = Canvas(figsize=(width_inches, sum(heights)), layout="constrained")
        panels = canvas.subfigures(len(figures), 1, squeeze=False, height_ratios=heights)[:, 0]
        for figure, panel in zip(figures, panels, strict=True):
            draw(thinned(figure), panel.subplots())
            if len(figures) > 1:
                panel.suptitle(figure.title, x=0.01, horizontalalignment="left", fontsize="medium", fontweight="bold")
        undated: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
        title = ", ".join(figure.title for figure in figures)
        try:
            canvas.savefig(drawn, format=ending[1:], dpi=size.dpi, metadata={"Title": title, **undated})
        except ValueError as error:  # more dots than a picture can have
            raise ResultsError(f"cannot draw a picture so large: {error}") from error
    return drawn.getvalue()


def _style(size: PictureSize) -> Any:
    """Return settings of matplotlib: letters as in captions, whole fonts in PDF, outlines in SVG."""
    return {
        **STYLE,
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "hpltune",
        "font.size": 9 if size.width_cm >= 12 else 8,
        "axes.linewidth": 0.8,
        "grid.color": "#cccccc",
    }
