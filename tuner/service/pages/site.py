"""Whole pages of the service: what stands above each of them, and who looks at it."""

from dataclasses import dataclass

from fastapi.responses import HTMLResponse
from starlette.requests import HTTPConnection

from results.report.html import VISITOR_LINKS, VISITOR_NAME
from results.store.service.tokens import AccessScope

from ..callers import Caller, cookie_name, noted_caller
from .frames import PAGE_HEADERS
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

    @classmethod
    def of(cls, caller: Caller, *, signed_in: bool) -> "Visitor":
        """Tell of somebody who sends a request."""
        runs, rules = (caller.scope.covers(scope) for scope in (AccessScope.RUN, AccessScope.ADMIN))
        return cls(caller.name, caller.scope.value, runs, rules, signed_in)


def visitor_of(request: HTTPConnection) -> Visitor | None:
    """Who looks at the page that answers a request; None where nobody knows."""
    caller = noted_caller(request)
    return None if caller is None else Visitor.of(caller, signed_in=cookie_name(request) in request.cookies)


def page(request: HTTPConnection, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Fill the template of a whole page for whoever asks for it."""
    html = rendered(template, visitor=visitor_of(request), here=request.scope["path"], **values)
    return HTMLResponse(html, status, headers=FILLED_HEADERS)


def kept_page(request: HTTPConnection, made: str) -> HTMLResponse:
    """Show whoever asks a page that is kept for everybody, with what only they are shown at its head."""
    visitor = visitor_of(request)
    for mark, template in ((VISITOR_LINKS, "visitor_links.html.j2"), (VISITOR_NAME, "visitor.html.j2")):
        made = made.replace(mark, rendered(template, visitor=visitor, here=""), 1)
    return HTMLResponse(made, headers=PAGE_HEADERS)
