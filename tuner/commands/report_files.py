"""Files that show a report: a page, and pictures of its figures."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from results.report.model import Drawable, Report

from ..errors import UsageError
from ..user_files import require_writable_file, write_byte_parts, write_text
from ..words import all_with_options

if TYPE_CHECKING:
    from results.report.picture import PictureSize


def write_page(file: Path, reports: Sequence[Report], *, interactive: bool = True) -> None:
    """Write reports as one HTML file, in place of one that is there.

    Raises:
        TunerError: it cannot be written.
    """
    from results.report.html import to_html  # noqa: PLC0415 - only a page needs it

    write_text(file, to_html(all_with_options(reports), datetime.now(UTC), interactive=interactive))


def write_picture(file: Path, figures: Sequence[Drawable], size: "PictureSize | None" = None) -> None:
    """Draw figures into a file below each other; the end of its name says of which kind it is.

    Args:
        figures: at least one.

    Raises:
        UsageError: the name ends otherwise.
        ResultsError: so large a picture cannot be drawn.
        TunerError: the file cannot be written.
    """
    from results.report.picture import PictureSize, picture  # noqa: PLC0415 - only a picture needs it

    write_byte_parts(file, [picture(all_with_options(figures), _ending(file), size or PictureSize())])


def require_files(html: Path | None, plot: Path | None = None) -> None:
    """Refuse files that cannot be written before anything runs.

    Args:
        html: of the field html.
        plot: of the field plot.

    Raises:
        UsageError: the name of a picture has another end.
        TunerError: a file cannot be written.
    """
    if plot is not None:
        _ending(plot, field="plot")
    for field, file in (("html", html), ("plot", plot)):
        if file is not None:
            require_writable_file(file, field)


def _ending(file: Path, field: str = "") -> str:
    """Return the end of a picture's name."""
    from results.report.picture import ENDINGS  # noqa: PLC0415 - only a picture needs it

    ending = file.suffix.lower()
    if ending not in ENDINGS:
        head, given = ("", file) if field else (f"{file}: ", None)
        raise UsageError(f"{head}the name of a picture ends in .png, .svg or .pdf", field=field, given=given)
    return ending
