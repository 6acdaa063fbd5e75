"""Reports as one HTML file that needs no network: tables, and figures that work with and without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING

from .model import Copied, Figure, Heading, Matrix, Part, Report, Sentence, Table
from .svg import svg
from .thinning import thinned

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class Frame:
    """What a page has around its reports where a server shows it.

    Attributes:
        links: labels and addresses, above all.
    """

    links: tuple[tuple[str, str], ...] = ()


@cache
def page_style() -> str:
    """Read the style of every page."""
    return files(__package__).joinpath("page/page.css").read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """Read the script of a page with figures."""
    return files(__package__).joinpath("page/page.js").read_text(encoding="utf-8")


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
        interactive: a small script shows the values of figures, if there is a figure.
        frame: what is around the reports; None leaves the page on its own.
    """
    from markupsafe import Markup  # noqa: PLC0415 - only a page needs it

    drawn = any(isinstance(part, Figure | Matrix) for report in reports for part in report.parts)
    script = page_script() if drawn and interactive else ""
    numbers = count(1)
    return _template().render(
        reports=[{"title": one.title, "parts": [_part(part, numbers) for part in one.parts]} for one in reports],
        version=version("hpltune"),
        frame=frame or Frame(),
        made=made.strftime("%Y-%m-%d") if made else "",
        css=Markup(page_style()),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
    )


@cache
def _template() -> Template:
    from jinja2 import Environment  # noqa: PLC0415 - only a page needs it

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files(__package__).joinpath("page/page.html.j2").read_text(encoding="utf-8"))


def _part(part: Part, numbers: Iterator[int]) -> dict[str, object]:
    """Return a part as the template takes it; each figure takes a number of its own."""
    from markupsafe import Markup  # noqa: PLC0415

    match part:
        case Heading(text):
            return {"kind": "heading", "text": text}
        case Sentence(text=text, tone=tone):
            return {"kind": "sentence", "text": text, "tone": tone.value}
        case Copied(text):
            return {"kind": "copied", "text": text}
        case Table():
            return {"kind": "table", "table": part}
        case Figure() | Matrix():
            drawn = svg(thinned(part), next(numbers))
            return {"kind": "figure", "title": part.title, "marks": drawn.marks, "svg": Markup(drawn.svg)}  # noqa: S704 - drawn here
