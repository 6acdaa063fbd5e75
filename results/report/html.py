"""Reports as one HTML file that needs no network: tables, and figures that work with and without JavaScript."""

import json
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files

from .model import Copied, Figure, Heading, Part, Report, Sentence, Table
from .page.interactive import plotly_spec
from .page.svg import svg


def to_html(reports: Sequence[Report], made: datetime | None = None, *, interactive: bool = True) -> str:
    """Render reports as one page, in their order.

    Args:
        made: when; None leaves it out.
        interactive: the script of Plotly (some 5 MB) goes into the file, if there is a figure.
    """
    from jinja2 import Environment  # noqa: PLC0415 - only a page needs it
    from markupsafe import Markup  # noqa: PLC0415

    page = files(__package__).joinpath("page")
    drawn = any(isinstance(part, Figure) for report in reports for part in report.parts)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(page.joinpath("page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        reports=[{"title": report.title, "parts": [_part(part) for part in report.parts]} for report in reports],
        version=version("hpltune"),
        made=made.strftime("%Y-%m-%d") if made else "",
        css=Markup(page.joinpath("page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        plotly=Markup(_plotly()) if drawn and interactive else "",  # noqa: S704
        script=Markup(page.joinpath("page.js").read_text(encoding="utf-8")),  # noqa: S704
    )


def _part(part: Part) -> dict[str, object]:
    """Return a part as the template takes it."""
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
        case Figure():
            spec = json.dumps(plotly_spec(part))
            return {"kind": "figure", "title": part.title, "spec": spec, "svg": Markup(svg(part))}  # noqa: S704 - drawn here


def _plotly() -> str:
    """Return the script that makes figures interactive."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - 5 MB that only a page needs

    return str(get_plotlyjs()).replace("</script", "<\\/script")
