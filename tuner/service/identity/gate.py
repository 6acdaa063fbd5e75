"""Lets nobody to a handler who does not say who they are, and nobody who asks too often."""

from math import ceil
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from results.errors import ResultsError
from results.store.service.access import AccessScope

from ..problems import NO_DATABASE, Problem, answer, wants_page
from ..safety import READING
from .arrival import Arrival
from .caller import Caller, demand
from .doorkeeper import Admitted, Doorkeeper
from .rate_limit import RateLimit, network_of
from .signing_in import kept_form

MOST_KEPT_BYTES, DIGITS = 50_000, 6
"""Of a form that is kept for who signs in: it is sent back to strangers too."""
OPEN = frozenset({"/healthz", "/readyz", "/sign-in", "/sign-out"})
"""Addresses that ask nobody who they are; those below `/assets/` neither."""
METRICS = "/metrics"
"""Asks no program on this machine who it is."""


class Gate:
    """Notes who sends each request; a handler is reached by nobody else.

    Whoever reads needs the scope `read`, whoever changes something at least `run`; handlers may demand more.
    """

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper, limit: RateLimit) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        inner = self._app if scope["type"] != "http" else await self._let_in(HTTPConnection(scope))
        await inner(scope, receive, send)

    async def _let_in(self, request: HTTPConnection) -> ASGIApp:
        """What answers a request: the application, or a problem."""
        arrival: Arrival = request.state.arrival
        address = network_of(arrival.address)
        path = request.scope["path"]
        if _is_open(path):
            return self._counted(f"address:{address}") or self._app
        if path == METRICS and arrival.is_local:
            request.state.caller = Caller("", AccessScope.READ, arrival.address)
            return self._counted(f"address:{address}") or self._app
        try:
            found = await run_in_threadpool(self._doorkeeper.admit, request.app.state.store, request)
            request.state.caller, request.state.binding = found.caller, found.binding
            _check(request, found)
        except ResultsError:
            request.state.database_error = True
            return answer(503, NO_DATABASE, {"Retry-After": "10"})
        except Problem as problem:
            return self._counted(f"address:{address}") or _refused(request, problem)
        if found.unlimited:
            return self._app
        return self._counted(f"caller:{found.caller.name}") or self._app

    def _counted(self, who: str) -> ASGIApp | None:
        wait_s = self._limit.wait_s(who)
        if not wait_s:
            return None
        seconds = ceil(wait_s)
        return answer(429, f"These are too many requests: ask again in {seconds} s.", {"Retry-After": str(seconds)})


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith("/assets/")


def _check(request: HTTPConnection, found: Admitted) -> None:
    changes = request.scope["method"] not in READING
    demand(found.caller, AccessScope.RUN if changes else AccessScope.READ)


def _refused(request: HTTPConnection, problem: Problem) -> ASGIApp:
    """The answer to somebody who may not come in; a person in a browser is led to where one signs in."""
    if problem.status_code == 401 and wants_page(request.scope) and "authorization" not in request.headers:
        if request.scope["method"] == "POST" and _is_short(request):
            return _keeping
        if request.scope["method"] == "GET":
            asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/sign-in?next={quote(asked, safe='')}", 303)
    return answer(problem.status_code, str(problem.detail), problem.headers)


def _is_short(request: HTTPConnection) -> bool:
    """Whether a form is short enough to be sent back to somebody whom nobody knows."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and len(length) <= DIGITS and int(length) <= MOST_KEPT_BYTES


async def _keeping(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a form whose session has ended by one that signs in and keeps it."""
    try:
        response: ASGIApp = await kept_form(Request(scope, receive))
    except Problem as problem:
        response = answer(problem.status_code, str(problem.detail), problem.headers)
    await response(scope, receive, send)
