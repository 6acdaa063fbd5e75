"""The templates of pages."""

from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from ...messages.plain_paths import key_of
from ...words import named
from .shipped import assets

FILLED_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}
"""A page made of templates uses files of the service only, and its forms lead to the service only."""


@cache
def _environment() -> Environment:
    loader = PackageLoader("tuner.service.pages")
    return Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_named
    )


def _named(value: object) -> object:
    """What a template shows, with fields of what was asked for as a document has them."""
    if not isinstance(value, str):
        return value
    return type(value)(named(value, key_of))


def rendered(template: str, **values: object) -> str:
    """Fill a template; values are text unless they are marked as HTML."""
    addresses = {name: one.address for name, one in assets().items()}
    return _environment().get_template(template).render(assets=addresses, now=datetime.now(UTC), **values)
