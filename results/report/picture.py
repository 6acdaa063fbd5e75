"""Draws figures with vl-convert, without a browser: as SVG of a page, and as a PNG, SVG or PDF picture of a paper."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from textwrap import wrap

from ..errors import ResultsError
from .model import Drawable
from .thinning import thinned
from .vega import OF_PAPER, WIDTH, Spec, Theme, specification

ENDINGS = (".png", ".svg", ".pdf")
"""Ends of the names of files that pictures can have."""
CM_PER_INCH, POINTS_PER_INCH = 2.54, 72
LETTER, BOLD = 0.57, 0.66
"""How wide a letter is on average, in sizes of letters, and one of a title."""
MOST_DOTS = 150_000_000
"""Of a PNG file; each takes four bytes of memory."""
KEPT = 64
"""Drawings that a process keeps, because a page is drawn again when something else on it has changed."""
MARGIN = 40
"""Beside a legend: the axis on the left."""
NARROWEST = 60
"""A diagram without its axes, however long its names are."""
_SIZE = re.compile(r'width="([\d.]+)(?:pt)?" height="([\d.]+)(?:pt)?"')
_PLACES, _DIGITS = re.compile(r' (?:d|transform|[xy][12]?)="[^"]*"'), re.compile(r"(\.\d\d)\d+")
_ARIA = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
_NAMES = re.compile(r'(\bid="|url\(#|xlink:href="#)')


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
    """Draw one figure, or several below each other, with titles and captions, and return the file's content.

    Args:
        figures: at least one.
        ending: one of ENDINGS, which says of which kind the file is.

    Raises:
        ResultsError: so large a picture cannot be drawn.
    """
    import vl_convert  # noqa: PLC0415 - only a picture needs it

    width = size.width_cm / CM_PER_INCH * POINTS_PER_INCH
    # Letters keep their size, so that a picture fits into a text of any width.
    theme = replace(OF_PAPER, letters=9.0 if size.width_cm >= 12 else 8.0)
    panels = [svg(_titled(thinned(figure), width, theme), theme, width)[1] for figure in figures]
    svg_text = _below_each_other(panels)
    if ending == ".svg":
        return svg_text.encode()
    if ending == ".pdf":
        return vl_convert.svg_to_pdf(svg_text)
    dots = [round(side * size.dpi / POINTS_PER_INCH) for side in _size(svg_text)]
    if dots[0] * dots[1] > MOST_DOTS:
        raise ResultsError(f"cannot draw a picture so large: {dots[0]:,} times {dots[1]:,} dots")
    # vl-convert counts 96 dots of a screen to an inch, of which a length in points has 72.
    return vl_convert.svg_to_png(svg_text, scale=POINTS_PER_INCH / 96, ppi=size.dpi)


def svg(spec: Spec, theme: Theme, width: float) -> tuple[Spec, str]:
    """Draw a specification as wide as asked, and return it with its theme and that width, and the SVG."""
    themed, drawn = _svg(json.dumps({**spec, "config": theme.config()}), width)
    return json.loads(themed), drawn


@lru_cache(KEPT)
def _svg(themed: str, width: float) -> tuple[str, str]:
    import vl_convert  # noqa: PLC0415 - only what is drawn needs it

    spec = json.loads(themed)
    for view in (spec, *spec.get("vconcat", ())):
        if "width" in view:
            view["width"] = max(NARROWEST, view["width"] + round(width) - WIDTH)
    for view in spec.get("vconcat", ()):
        letters = round(width / (BOLD * spec["config"]["axis"]["labelFontSize"]))
        view["title"] |= {"text": wrap(view["title"]["text"], letters), "frame": "bounds"}
    drawn = _ARIA.sub("", vl_convert.vegalite_to_svg(spec))
    return json.dumps(spec), _PLACES.sub(lambda found: _DIGITS.sub(r"\1", found[0]), drawn)


def named_apart(drawn: str, number: int) -> str:
    """Give the elements of an SVG names of their own, by its number among others."""
    return _NAMES.sub(rf"\g<1>f{number}-", drawn)


def _size(drawn: str) -> tuple[float, float]:
    """Read the width and the height of an SVG."""
    [(width, height), *_] = _SIZE.findall(drawn)
    return float(width), float(height)


def _titled(figure: Drawable, width: float, theme: Theme) -> Spec:
    """Return a figure with its title, what it shows and where it is from, in lines."""
    below = [
        line
        for text in (figure.caption, figure.origin)
        if text
        for line in wrap(text, round(width / (LETTER * (theme.letters - 1))))
    ]
    title = wrap(figure.title, round(width / (BOLD * (theme.letters + 1))))
    room = round((width - MARGIN) / (LETTER * theme.letters))
    return {**specification(figure, room), "title": {"text": title, "subtitle": below, "frame": "bounds"}}


def _below_each_other(panels: Sequence[str]) -> str:
    """Join drawings as one file whose lengths are points."""
    sizes = [_size(panel) for panel in panels]
    tops = [0.0, *accumulate(height for _, height in sizes)]
    width, body = max(width for width, _ in sizes), ""
    for number, (panel, top) in enumerate(zip(panels, tops, strict=False), start=1):
        body += named_apart(panel, number).replace("<svg ", f'<svg y="{top:g}" ', 1)
    head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1"'
    return f'{head} width="{width:g}pt" height="{tops[-1]:g}pt" viewBox="0 0 {width:g} {tops[-1]:g}">{body}</svg>\n'
