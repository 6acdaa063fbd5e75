"""Writes a figure into a PNG, SVG or PDF file, as a paper needs it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ResultsError
from .drawing import SIZE_INCHES, STYLE, draw, height_inches
from .model import Drawable
from .thinning import thinned

ENDINGS = (".png", ".svg", ".pdf")
"""Ends of the names of files that can be written."""
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


def write_picture(figure: Drawable, file: Path, size: PictureSize) -> None:
    """Draw a figure into a file; the end of its name says of which kind.

    Raises:
        ResultsError: the name ends otherwise, or the file cannot be written.
    """
    kind = file.suffix.lower()
    if kind not in ENDINGS:
        raise ResultsError(f"{file}: the name of a picture ends in .png, .svg or .pdf")
    from matplotlib import rc_context  # noqa: PLC0415 - half a second that only a picture needs
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    width_inches = size.width_cm / CM_PER_INCH
    # Letters keep their size, so that a picture fits into a text of any width.
    height = height_inches(figure) * max(0.75, width_inches / SIZE_INCHES[0])
    with rc_context(_style(size)):
        canvas = Canvas(figsize=(width_inches, height), layout="constrained")
        draw(thinned(figure), canvas.subplots())
        undated: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind, {})
        try:
            canvas.savefig(file, dpi=size.dpi, metadata={"Title": figure.title, **undated})
        except OSError as error:
            raise ResultsError(f"cannot write {file}: {error.strerror}") from error
        except ValueError as error:  # more dots than a picture can have
            raise ResultsError(f"cannot draw {file} so large: {error}") from error


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
