"""Whole pages of the service: what stands above each of them, and who looks at it."""

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse

from results.store.service.tokens import AccessScope

from ..authentication import caller_of, cookie_name
from .rendering import FILLED_HEADERS, rendered


@dataclass(frozen=True)
class Visitor:
    """Who looks at a page.

    Attributes:
        may_start: they may start campaigns.
        is_admin: they may see who may come in, and who did what.
        signed_in: by a session of this browser, which they can end.
    """

    name: str
    scope: str
    may_start: bool
    is_admin: bool
    signed_in: bool


def page(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Fill the template of a whole page for whoever asks for it."""
    caller = caller_of(request)
    visitor = Visitor(
        caller.name,
        caller.scope.value,
        caller.scope.covers(AccessScope.RUN),
        caller.scope.covers(AccessScope.ADMIN),
        cookie_name(request) in request.cookies,
    )
    html = rendered(template, visitor=visitor, here=request.url.path, **values)
    return HTMLResponse(html, status, headers=FILLED_HEADERS)
