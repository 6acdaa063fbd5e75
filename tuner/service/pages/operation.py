"""Pages of what stands beside campaigns: tokens, and who did what."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator

from results.store.service.audit import AuditAsked
from results.store.service.tokens import UnknownTokenError

from ...errors import UsageError
from ...messages.campaigns import AskedQuery, Cursor
from ..api import operators
from ..api.campaigns import EARLIEST, LATEST, Word
from ..authentication import needs
from ..forms import Form, csrf_field
from ..parts import OpenStore, no_query
from ..problems import Problem
from .site import page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
Named = Annotated[str, InPath(max_length=200)]
TypedWord = Annotated[Word, AfterValidator(str.strip)]
"""A word as somebody types it, without the blanks around it."""


SHOWN = 100
"""Actions of a page."""


class AuditFilter(AskedQuery):
    """Which actions the page shows, and where it begins; a field that is left empty filters nothing.

    Attributes:
        since, until: days of UTC, both of which are shown.
    """

    who: TypedWord = ""
    what: TypedWord = ""
    since: TypedWord = ""
    until: TypedWord = ""
    cursor: Cursor | None = None

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {key: text for key, text in self.model_dump(exclude={"cursor"}).items() if text}

    def asked(self, said: Mapping[str, str]) -> AuditAsked:
        """Which actions to read.

        Args:
            said: what each action does, in words.

        Raises:
            UsageError: a day cannot be read.
        """
        actions = [action for action, does in said.items() if self.what.lower() in does.lower()]
        until = _day(self.until, "until")
        return AuditAsked(self.who, self.what, actions, _day(self.since, "since"), until and until + timedelta(days=1))


def _day(text: str, field: str) -> datetime | None:
    """The begin of a day of UTC; None for no text."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        day = None
    if day is None or not EARLIEST <= day <= LATEST:
        raise UsageError("write a day such as 2026-11-28", field=field, given=text[:40])
    return day


@router.get("/tokens", dependencies=[needs("admin"), Depends(no_query)])
def tokens_page(request: Request, store: OpenStore) -> HTMLResponse:
    """List tokens: who may do what, and when each was last used."""
    now = datetime.now(UTC)
    found = [(entry, entry.state(now)) for entry in store.tokens.entries()]
    return page(request, "operation/tokens.html.j2", tokens=found, csrf=csrf_field(request))


@router.post("/tokens/{name}/revoke", dependencies=[needs("admin")])
def revoke_token(store: OpenStore, name: Named, _sent: Form) -> Response:
    """Let a token open nothing from now on."""
    try:
        store.tokens.revoke(name)
    except UnknownTokenError:
        raise Problem(404, "There is no token of this name: the page of tokens lists all.") from None
    return RedirectResponse("/tokens", 303)


@router.get("/audit", dependencies=[needs("admin")])
def audit_page(request: Request, store: OpenStore, query: Annotated[AuditFilter, Query()]) -> HTMLResponse:
    """List who changed something, signed in or was refused, newest first."""
    said: Mapping[str, str] = request.app.state.actions_in_words
    found, wrong = operators.AuditPage(deeds=[], next_cursor=None), None
    try:
        found = operators.audited(store, query.asked(said), SHOWN, query.cursor)
    except UsageError as error:
        wrong = error
    kept = query.filters
    return page(
        request,
        "operation/audit.html.j2",
        422 if wrong else 200,
        actions=[(action, said.get(action.action, "")) for action in found.deeds],
        query=query,
        wrong=wrong,
        older=f"/audit?{urlencode({**kept, 'cursor': found.next_cursor})}" if found.next_cursor else None,
        newest=f"/audit?{urlencode(kept)}" if query.cursor is not None else None,
    )


def actions_in_words(routers: Iterable[APIRouter]) -> Mapping[str, str]:
    """What each address does, by its method and path, as the first sentence of its own documentation says."""
    said = dict[str, str]()
    for route in chain.from_iterable(one.routes for one in routers):
        if isinstance(route, APIRoute):
            first = re.split("[;:.]( |$)", (route.endpoint.__doc__ or "").split("\n")[0])[0]
            said |= {f"{method} {route.path}": first for method in route.methods or ()}
    return said
