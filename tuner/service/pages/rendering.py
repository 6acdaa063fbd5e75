"""The templates of pages, and their styles and scripts.

Each style or script has the hash of its content in its name, so that browsers may keep it for ever.
"""

import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from results.metrics import rate_text
from results.report.html import page_style, script_file, templates

from ...asks.registry import key_of
from ...messages.plain_paths import without_paths
from ...words import named
from .frames import SITE, VEGA, Asset, address_of, asset_of

router = APIRouter(include_in_schema=False)
SCRIPTS = ("htmx.min.js", "htmx-sse.min.js", "live.js", "tabs.js")
STYLES = ("live.css", "forms.css")
KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}
FILLED_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}
"""A page made of templates uses files of the service only, and its forms lead to the service only."""
PAGES_OF = {
    "/api/v1/campaigns lists all": "the page of campaigns lists all",
    "/api/v1/node-checks lists all": "the page of nodes lists all",
    "/api/v1/openapi.json lists what there is": "the links above lead to all pages",
}
"""What is said on pages instead of an address for programs."""
_LISTS = re.compile("|".join(map(re.escape, PAGES_OF)))


Fact = tuple[str, str]
"""What a fact is about, and the fact."""


@cache
def assets() -> dict[str, Asset]:
    """Read all files that pages use, by their plain names."""
    texts = {name: files(__package__).joinpath(f"assets/{name}").read_text("utf-8") for name in (*SCRIPTS, *STYLES)}
    texts |= {"page.css": page_style(), "tables.js": script_file("tables"), "page.js": script_file("page")}
    return {"vega.js": VEGA} | {name: asset_of(name, text) for name, text in texts.items()}


@cache
def _by_address() -> dict[str, Asset]:
    return {one.address: one for one in assets().values()}


@cache
def _environment() -> Environment:
    loader = ChoiceLoader([PackageLoader("tuner.service.pages"), templates()])
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_named
    )
    environment.globals |= {"address_of": address_of, "without_paths": without_paths, "rate_text": rate_text}
    return environment


def _named(value: object) -> object:
    """What a template shows, with fields of what was asked for as a document has them, and pages for addresses."""
    if not isinstance(value, str):
        return value
    return type(value)(_LISTS.sub(lambda found: PAGES_OF[found[0]], named(value, key_of)))


def rendered(template: str, **values: object) -> str:
    """Fill a template; values are text unless they are marked as HTML."""
    addresses = {name: one.address for name, one in assets().items()}
    return _environment().get_template(template).render(assets=addresses, site=SITE, now=datetime.now(UTC), **values)


@router.get("/assets/{file}")
def asset(file: str) -> Response:
    """Answer with a file that pages use; anybody may have it."""
    found = _by_address().get(f"/assets/{file}")
    if found is None:
        raise HTTPException(404)
    return Response(found.content, media_type=found.media_type, headers=KEPT)
