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
from typing import TYPE_CHECKING

from .model import (
    Beside,
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
    Tone,
    inner_parts,
)
from .picture import named_apart, svg
from .thinning import thinned
from .vega import OF_PAGES, WIDTH, Spec, specification

if TYPE_CHECKING:
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup


KINDS: Mapping[type[Part], str] = {
    Heading: "heading",
    Sentence: "sentence",
    Copied: "copied",
    Blank: "blank",
    Table: "table",
    Card: "card",
}
"""What the template calls parts that it takes as they are."""
LONG = 8
"""Rows of a table; one with more can be sorted and filtered."""
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
        vega: where the server has the script that draws figures; "" puts it into the page.
    """

    links: tuple[tuple[str, str], ...] = ()
    site: tuple[tuple[str, str], ...] = ()
    vega: str = ""


@cache
def page_style() -> str:
    """Read the style of every page."""
    return files(__package__).joinpath("page/page.css").read_text(encoding="utf-8")


@cache
def script_file(name: str) -> str:
    """Read a script of pages.

    Args:
        name: "vega.min" draws figures, "page" has it draw those of a page, "tables" sorts and filters long tables.
    """
    return files(__package__).joinpath(f"page/{name}.js").read_text(encoding="utf-8")


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

    parts = [part for report in reports for part in inner_parts(report.parts)]
    drawn = any(isinstance(part, Drawable) for part in parts)
    long = any(isinstance(part, Table) and len(part.rows) > LONG for part in parts)
    frame = frame or Frame()
    vega = script_file("vega.min") if drawn and interactive and not frame.vega else ""
    script = script_file("page") if drawn and interactive else ""
    tables = script_file("tables") if long and interactive else ""
    drawer = _Drawer(count(1), set())
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            reports=[{"title": one.title, "parts": drawer.of(one.parts)} for one in reports],
            version=version("hpltune"),
            frame=frame,
            of_visitor={"links": Markup(VISITOR_LINKS), "name": Markup(VISITOR_NAME)},  # noqa: S704 - comments of ours
            made=made.strftime("%Y-%m-%d") if made else "",
            css=Markup(page_style()),  # noqa: S704 - our own file
            vega=Markup(vega),  # noqa: S704 - a file of ours, as are all scripts
            script=Markup(script),  # noqa: S704 - our own file
            tables=Markup(tables),  # noqa: S704 - our own file
        )
    )


def templates() -> PackageLoader:
    """Load the templates of pages: "parts.html.j2" has a macro for each part of a report."""
    from jinja2 import PackageLoader  # noqa: PLC0415 - only a page needs it

    return PackageLoader(__package__, "page")


@cache
def _environment() -> Environment:
    from jinja2 import Environment  # noqa: PLC0415 - only a page needs it

    return Environment(loader=templates(), autoescape=True, trim_blocks=True, lstrip_blocks=True)


def parts_html(parts: Iterable[Part], first: int = 1, *, drawn: bool = True) -> Markup:
    """Render parts of a report for a page that has others, too, and the style and the scripts of pages.

    Args:
        first: the number of the first figure, which makes its names unique in that page.
        drawn: figures are drawn; without it a script of the page draws them, which is sooner here.
    """
    from markupsafe import Markup  # noqa: PLC0415 - only a page needs it

    shown = _Drawer(count(first), set(), drawn=drawn).of(parts)
    made: str = _environment().get_template("parts.html.j2").module.show(shown, script=True)  # type: ignore[attr-defined]
    return Markup(made)  # noqa: S704 - the template escapes


def _anchor(title: str, taken: set[str]) -> str:
    """Name a figure for links: by the words of its title, with a number where another one has them."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "figure"
    numbered = (f"{words}-{number}" for number in count(2))
    name = next(one for one in chain([words], numbered) if one not in taken)
    taken.add(name)
    return name


@dataclass(frozen=True)
class _Drawer:
    """Makes parts ready for the templates; each figure takes a number and a name of its own.

    Attributes:
        taken: names of figures.
        drawn: as `parts_html` has it.
    """

    numbers: Iterator[int]
    taken: set[str]
    drawn: bool = True

    def of(self, parts: Iterable[Part]) -> list[dict[str, object]]:
        return [self._part(part) for part in parts]

    def _part(self, part: Part) -> dict[str, object]:
        from markupsafe import Markup  # noqa: PLC0415

        match part:
            case Folded(title, parts, tone):
                return {"kind": "folded", "title": title, "parts": self.of(parts), "cautions": tone is Tone.CAUTION}
            case Beside(parts):
                return {"kind": "beside", "parts": self.of(parts)}
            case Figure() | Matrix() | Timeline() | Gantt():
                shown, number = thinned(part), next(self.numbers)
                drawn, spec = drawing(shown, number) if self.drawn else ("", live_specification(shown))
                beside: dict[str, object] = {
                    "anchor": _anchor(part.title, self.taken),
                    "caption": part.caption,
                    "origin": part.origin,
                    "data": figure_data(shown),
                }
                beside |= {"svg": Markup(drawn), "spec": Markup(spec)}  # noqa: S704 - drawn here
                return {"kind": "figure", "title": part.title, **beside}
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
            label = next((told[i] for told in (series.labels, series.notes) if i < len(told)), "")
            y = _number(series.y[i]) if figure.y_axis else ""
            yield [series.name, x if isinstance(x, str) else _number(x), y, low, high, label]


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


def drawing(figure: Drawable, number: int = 1) -> tuple[str, str]:
    """Draw a figure in the colours of the page; return its SVG and its specification, as JSON that HTML may hold.

    Args:
        number: of the figure in its page, which makes the names of its elements unique.
    """
    spec, drawn = svg(specification(figure), OF_PAGES, WIDTH)
    told = _json(spec)
    head, _, rest = named_apart(drawn, number).partition(">")
    kept = " ".join(word for word in head.split() if not word.startswith(("width=", "height=", "class=")))
    name = escape(f"{figure.title}. {_in_words(figure)}", quote=True)
    return f'{kept} role="img" aria-label="{name}">{rest}', told


def _in_words(figure: Drawable) -> str:
    """Say what a figure shows to who cannot see it: the ends of its values, or what its caption says."""
    series = figure.series if isinstance(figure, Figure) and figure.y_axis else ()
    points = [(y, x, one.name) for one in series for x, y in zip(one.x, one.y, strict=True) if not isnan(y)]
    if not isinstance(figure, Figure) or not points:
        return figure.caption
    low, (high, x, name) = min(points, key=lambda one: one[0])[0], max(points, key=lambda one: one[0])
    at = x if isinstance(x, str) else f"{x:.4g}"
    return f"{figure.y_axis}: {low:.4g} to {high:.4g}, the highest in {name}, at {figure.x_axis} {at}."


def live_specification(figure: Drawable) -> str:
    """Return the same specification where nothing is drawn here, for a figure that a page's script keeps up to date."""
    return _json({**specification(figure), "config": OF_PAGES.config()})


def _json(spec: Spec) -> str:
    return json.dumps(spec, separators=(",", ":"), ensure_ascii=False).replace("<", r"\u003c").replace("&", r"\u0026")
