"""Reports as one HTML file that needs no network: tables, and figures as SVG that work with and without JavaScript."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, singledispatch
from html import escape
from importlib.metadata import version
from importlib.resources import files
from itertools import chain, count
from math import isnan
from typing import TYPE_CHECKING, Any

from .drawing import POINTS_PER_INCH, SIZE_INCHES, DrawnValue, height_inches, thinned
from .drawing import STYLE as DRAWING
from .model import (
    Blank,
    Card,
    Copied,
    Drawable,
    Figure,
    Folded,
    Gantt,
    Heading,
    Matrix,
    Part,
    Report,
    Sentence,
    Table,
    Timeline,
)
from .svg_paths import short_paths
from .timeline import draw_on

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


KINDS: Mapping[type[Part], str] = {
    Heading: "heading",
    Sentence: "sentence",
    Copied: "copied",
    Blank: "blank",
    Table: "table",
    Card: "card",
}
"""What the template calls parts that it takes as they are."""
INK = "#010203"
"""Stands for the colour of the page's text, which the page knows."""
LONG = 8
"""Rows of a table; one with more can be sorted and filtered."""
GRID = "#040506"
"""Stands for the colour of the page's lines."""
SCRIPTS = ("enlarge", "page")
"""What makes figures answer, in the order in which a browser reads it."""
LINES = 'stroke-linejoin="round" stroke-linecap="butt"'
"""What matplotlib's style sheet says of every line."""
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
Scale = dict[str, Any]
"""What a page must know of one diagram, or of one axis."""
Cells = Iterator[Sequence[str]]
"""Lines of a table; the first has the names of its columns."""
VISITOR_LINKS, VISITOR_NAME = "<!-- links of the visitor -->", "<!-- the visitor -->"
"""Stand in a page of a server, which is kept for all visitors, for what only one of them is shown."""


@dataclass(frozen=True)
class Frame:
    """What a page has around its reports where a server shows it.

    Attributes:
        links: labels and addresses of what belongs to this page.
        site: those of the server's other pages, above all; none shows no name of the site either.
    """

    links: tuple[tuple[str, str], ...] = ()
    site: tuple[tuple[str, str], ...] = ()


@cache
def page_style() -> str:
    """Read the style of every page."""
    return files(__package__).joinpath("page/page.css").read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """Read the scripts of a page with figures."""
    return "".join(files(__package__).joinpath(f"page/{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)


@cache
def table_script() -> str:
    """Read the script that sorts and filters long tables."""
    return files(__package__).joinpath("page/tables.js").read_text(encoding="utf-8")


def to_html(
    reports: Sequence[Report],
    made: datetime | None = None,
    *,
    interactive: bool = True,
    frame: Frame | None = None,
) -> str:
    """Render reports as one page, in their order.

    Args:
        made: when; None leaves it out.
        interactive: small scripts show the values of figures, and sort and filter long tables, where there are such.
        frame: what is around the reports; None leaves the page on its own.
    """
    from markupsafe import Markup  # noqa: PLC0415 - only a page needs it

    parts = list(_unfolded([part for report in reports for part in report.parts]))
    drawn = any(isinstance(part, Drawable) for part in parts)
    long = any(isinstance(part, Table) and len(part.rows) > LONG for part in parts)
    script = page_script() if drawn and interactive else ""
    tables = table_script() if long and interactive else ""
    numbers, taken = count(1), set[str]()
    return _of_file("page/page.html.j2").render(
        card_html=card_html,
        reports=[{"title": one.title, "parts": [_part(part, numbers, taken) for part in one.parts]} for one in reports],
        version=version("hpltune"),
        frame=frame or Frame(),
        of_visitor={"links": Markup(VISITOR_LINKS), "name": Markup(VISITOR_NAME)},  # noqa: S704 - comments of ours
        made=made.strftime("%Y-%m-%d") if made else "",
        css=Markup(page_style()),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        tables=Markup(tables),  # noqa: S704 - our own file
    )


def _unfolded(parts: Iterable[Part]) -> Iterator[Part]:
    """All parts, also those that are folded into others."""
    for part in parts:
        yield part
        if isinstance(part, Folded):
            yield from _unfolded(part.parts)


@cache
def _of_file(file: str) -> Template:
    from jinja2 import Environment  # noqa: PLC0415 - only a page needs it

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files(__package__).joinpath(file).read_text(encoding="utf-8"))


def card_html(card: Card) -> Markup:
    """Render the answer at a glance, for any page that has the style of pages."""
    from markupsafe import Markup  # noqa: PLC0415 - only a page needs it

    return Markup(_of_file("page/card.html.j2").render(card=card))  # noqa: S704 - the template escapes


def _anchor(title: str, taken: set[str]) -> str:
    """Name a figure for links: by the words of its title, with a number where another one has them."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "figure"
    numbered = (f"{words}-{number}" for number in count(2))
    name = next(one for one in chain([words], numbered) if one not in taken)
    taken.add(name)
    return name


def _part(part: Part, numbers: Iterator[int], taken: set[str]) -> dict[str, object]:
    """Return a part as the template takes it; each figure takes a number and a name of its own."""
    from markupsafe import Markup  # noqa: PLC0415

    match part:
        case Folded(title, parts):
            return {"kind": "folded", "title": title, "parts": [_part(one, numbers, taken) for one in parts]}
        case Figure() | Matrix() | Timeline() | Gantt():
            shown = thinned(part)
            drawn = svg(shown, next(numbers))
            beside = {
                "anchor": _anchor(part.title, taken),
                "caption": part.caption,
                "origin": part.origin,
                "data": figure_data(shown),
            }
            beside |= {"marks": drawn.marks, "scales": drawn.scales}
            return {"kind": "figure", "title": part.title, "svg": Markup(drawn.svg), **beside}  # noqa: S704 - drawn here
        case _:
            return {"kind": KINDS[type(part)], "data": part}


def figure_data(figure: Drawable) -> str:
    """Write what a figure shows as CSV, with a line for each value; columns without any value are left out.

    Those of a heat map are named after its axes, those of lanes after what they can do. Elsewhere, lowest and highest
    are the ends of the interval of y.
    """
    names, *lines = _cells(figure)
    used = [place for place in range(len(names)) if any(line[place] for line in lines)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([one[place] for place in used] for one in (names, *lines))
    return text.getvalue()


@singledispatch
def _cells(figure: Drawable) -> Cells:
    """Yield the names of the columns, then a line for each value."""
    raise NotImplementedError(type(figure))


@_cells.register
def _of_matrix(figure: Matrix) -> Cells:
    yield [figure.y_axis, figure.x_axis, figure.unit, "note", "measured"]
    for i, row in enumerate(figure.rows):
        for j, column in enumerate(figure.columns):
            if figure.cells[i][j] is not None:
                note = figure.notes[i][j] if figure.notes else ""
                measured = ("no" if figure.guessed[i][j] else "yes") if figure.guessed else ""
                yield [row, column, _number(figure.cells[i][j]), note, measured]


@_cells.register
def _of_lanes(figure: Gantt) -> Cells:
    yield ["group", figure.lane_axis, "from", "until", *figure.kinds]
    for group in figure.groups:
        title = group.title if len(figure.groups) > 1 else ""
        for lane in group.lanes:
            for span in lane.spans:
                parts = (_number(part) if part else "" for part in span.parts)
                yield [title, lane.name, _number(span.begin), _number(span.end), *parts]


@_cells.register
def _of_diagram(figure: Figure) -> Cells:
    yield ["series", figure.x_axis, figure.y_axis, "lowest", "highest", "label"]
    for series in figure.series:
        for i, x in enumerate(series.x):
            low, high = (_number(ends[i]) if ends else "" for ends in (series.low, series.high))
            label = series.labels[i] if i < len(series.labels) else ""
            yield [series.name, x if isinstance(x, str) else _number(x), _number(series.y[i]), low, high, label]


@_cells.register
def _of_timeline(figure: Timeline) -> Cells:
    names, *_ = _of_diagram(figure.rows[0])
    yield ["figure", *names[:2], "value", *names[3:]]
    for diagram in figure.rows:
        _, *lines = _of_diagram(diagram)
        yield from ([diagram.title, *line] for line in lines)


def _number(value: float | None) -> str:
    """Write a number with as many digits as a reader of a figure can use; nothing for what is none."""
    return "" if value is None or isnan(value) else f"{value:.7g}"


@dataclass(frozen=True)
class Drawn:
    """A figure for a page.

    Attributes:
        svg: the element.
        marks: JSON of what its points show: [series, x, y, text] in the SVG's own units.
        scales: JSON of where its diagrams are and what their axes show, for a part that is enlarged.
    """

    svg: str
    marks: str
    scales: str


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
        marks = draw_on(figure, canvas, SIZE_INCHES[0])
        text = io.StringIO()
        canvas.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        places: Any = [canvas.axes[mark.row].transData.transform((mark.x, mark.y)) for mark in marks]
        diagrams = _scales(canvas.axes[: 1 + max((mark.row for mark in marks), default=0)], height)
    shown = [_shown(mark, place, height) for mark, place in zip(marks, places, strict=True)]
    return Drawn(_of_the_page(text.getvalue(), figure.title, number), _json(shown), _json(diagrams))


def _scales(diagrams: Sequence[Axes], height_inches: float) -> list[Scale]:
    """Return where each diagram is in the SVG's own units, and what its axes show: a page can write them anew.

    Args:
        diagrams: drawn already, for only then their places are known.
    """
    height = height_inches * POINTS_PER_INCH
    return [
        {
            "box": [round(float(side), 1) for side in (box.x0, height - box.y1, box.x1, height - box.y0)],
            "x": _axis(axes.xaxis, axes.get_xlim(), axes.get_xlabel() or diagrams[-1].get_xlabel()),
            "y": _axis(axes.yaxis, axes.get_ylim()[::-1], axes.get_ylabel() or axes.get_title(loc="left")),
        }
        for axes in diagrams
        for box in [axes.bbox]
    ]


def _axis(axis: Axis, ends: Sequence[float], label: str) -> Scale:
    """Say what an axis shows from left to right, or from the top to the bottom; names stand at their places."""
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415 - only a drawing needs it

    told: Scale = {"ends": [float(f"{end:.7g}") for end in ends], "label": label, "log": axis.get_scale() == "log"}
    if isinstance(axis.get_major_locator(), FixedLocator):
        texts = [label.get_text() for label in axis.get_ticklabels()]
        told["names"] = [[round(float(at), 3), text] for at, text in zip(axis.get_ticklocs(), texts, strict=True)]
    return told


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _shown(mark: DrawnValue, place: Any, height_inches: float) -> list[object]:
    """Return a mark with its place from the upper left corner, to a tenth of a point."""
    x, y = place
    return [mark.series, round(float(x), 1), round(height_inches * POINTS_PER_INCH - float(y), 1), mark.text]


def _of_the_page(drawn: str, title: str, number: int) -> str:
    """Keep the SVG element alone, with the page's colours, as wide as the page allows and with names of its own."""
    body = drawn[drawn.index("<svg") :].replace(INK, "currentColor").replace(GRID, "var(--line)")
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>f{number}-", body)
    body = re.sub(r" ?font-family: [^;\"]*;", "", body)
    body = re.sub(r"<style[^>]*>.*?</style>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r' style="([^"]*)"', _attributes, body)
    body = short_paths(re.sub(r"\n\s*", "\n", body))
    head, _, rest = body.partition(">")
    kept = " ".join(word for word in head.split() if not word.startswith(("width=", "height=")))
    return f'{kept} {LINES} role="img" aria-label="{escape(title, quote=True)}">{rest}'


def _attributes(style: re.Match[str]) -> str:
    """Write a style as attributes: a server's page forbids styles that are not in its own style sheet."""
    said = (one.partition(":") for one in style[1].split(";") if one.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in said)
