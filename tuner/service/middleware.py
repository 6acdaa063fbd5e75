"""What stands before every handler, from outside: who watches, from where a request came, what is refused, who asks."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_network
from math import ceil
from urllib.parse import quote
from uuid import uuid4

from anyio import to_thread
from cachetools import LRUCache
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from results.errors import ResultsError
from results.store.service.audit import AuditedAction
from results.store.service.tokens import AccessScope

from .authentication import Admission, demand
from .callers import Caller
from .config import ServiceSettings
from .hardening import READING, Hardening
from .pages.sign_in import kept_form
from .parts import parts_of
from .problems import NO_DATABASE, OTHER_FILE, Problem, ProblemAnswer, wants_page
from .proxy_headers import ProxyHeaders, RequestSource, parsed_address
from .request_log import REFUSED, SeenRequest, masked, seen, tell

MOST_KEPT_BYTES, DIGITS = 50_000, 6
"""Of a form that is kept for who signs in: it is sent back to strangers too."""
OPEN = frozenset({"/healthz", "/readyz", "/sign-in", "/sign-out"})
"""Addresses that ask nobody who they are; those below `/assets/` neither."""
ADMITTED_S = 10.0
"""Seconds that the database has to tell who somebody is; it is asked again for a minute where it is away."""
METRICS = "/metrics"
"""Asks no program on this machine who it is."""
REFUSALS_PER_MINUTE = 10
"""Of one address that are noted in the audit log: it must not grow by what strangers send."""
LONGEST_DETAIL = 300
MOST_BUCKETS = 10_000
"""Callers and addresses in memory; those that asked least recently are forgotten first."""


def add_middleware(app: FastAPI, settings: ServiceSettings) -> None:
    """Guard an application; what is added last sees a request first."""
    config = settings.config
    app.add_middleware(Authentication, limit=RateLimit(config.limits.requests_per_minute))
    app.add_middleware(Hardening, config=config, only_by_proxy=settings.only_by_proxy)
    app.add_middleware(ProxyHeaders, proxy=config.proxy, uid_of=settings.uid_of)
    app.add_middleware(RequestObserver)


class RateLimit:
    """Lets each caller send a minute's requests at once, and after that as many as the minute brings.

    Args:
        per_minute: requests of one caller.
        clock: seconds that never go back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(MOST_BUCKETS)

    def wait_s(self, who: str) -> float:
        """Count a request; return 0, or the seconds to wait where there were too many and it is not counted."""
        now, per_s = self._clock(), self._per_minute / 60
        left, at = self._buckets.get(who, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - at) * per_s)
        enough = left >= 1
        self._buckets[who] = (left - enough, now)
        return 0.0 if enough else (1 - left) / per_s


def network_of(address: str) -> str:
    """The part of an address that one machine has: of IPv6 the first 64 bits, because the rest costs nothing."""
    found = parsed_address(address)
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


class Authentication:
    """Notes who sends each request; a handler is reached by nobody else.

    Whoever reads needs the scope `read`, whoever changes something at least `run`; handlers may demand more.
    """

    def __init__(self, app: ASGIApp, limit: RateLimit) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        inner = self._app if scope["type"] != "http" else await self._answering(HTTPConnection(scope))
        await inner(scope, receive, send)

    async def _answering(self, request: HTTPConnection) -> ASGIApp:
        """What answers a request: the application, or a problem."""
        source: RequestSource = request.state.source
        address = network_of(source.address)
        path = request.scope["path"]
        if path in OPEN or path.startswith("/assets/"):
            return self._counted(f"address:{address}") or self._app
        if path == METRICS and source.is_local:
            request.state.caller = Caller("", AccessScope.READ, source.address)
            return self._counted(f"address:{address}") or self._app
        try:
            async with asyncio.timeout(ADMITTED_S):
                found = await to_thread.run_sync(_admitted, request, abandon_on_cancel=True)
            request.state.caller, request.state.binding = found.caller, found.binding
            demand(found.caller, AccessScope.READ if request.scope["method"] in READING else AccessScope.RUN)
        except (ResultsError, TimeoutError):
            request.state.database_error = True
            return ProblemAnswer(503, NO_DATABASE, {"Retry-After": "10"})
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
        return ProblemAnswer(
            429, f"These are too many requests: ask again in {seconds} s.", {"Retry-After": str(seconds)}
        )


def _admitted(request: HTTPConnection) -> Admission:
    """Who sends a request; what it changes would be lost in another file than the one that was opened.

    Raises:
        Problem: nobody may send it, or it would be lost.
    """
    parts = parts_of(request)
    if request.scope["method"] not in READING and not parts.dispatcher.has_its_database:
        raise Problem(503, OTHER_FILE)
    return parts.authenticator.authenticate(request)


def _refused(request: HTTPConnection, problem: Problem) -> ASGIApp:
    """The answer to somebody who may not come in; a person in a browser is led to where one signs in."""
    if problem.status_code == 401 and wants_page(request.scope) and "authorization" not in request.headers:
        if request.scope["method"] == "POST" and _is_short(request):
            return _keeping
        if request.scope["method"] == "GET":
            asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/sign-in?next={quote(asked, safe='')}", 303)
    return ProblemAnswer(problem.status_code, str(problem.detail), problem.headers)


def _is_short(request: HTTPConnection) -> bool:
    """Whether a form is short enough to be sent back to somebody whom nobody knows."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and len(length) <= DIGITS and int(length) <= MOST_KEPT_BYTES


async def _keeping(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a form whose session has ended by one that signs in and keeps it."""
    try:
        response: ASGIApp = await kept_form(Request(scope, receive))
    except Problem as problem:
        response = ProblemAnswer(problem.status_code, str(problem.detail), problem.headers)
    await response(scope, receive, send)


class RequestObserver:
    """Watches requests; nothing of what it does changes an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._refusals = RateLimit(REFUSALS_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        watched, metrics = WatchedAnswer(scope, send, self), parts_of(HTTPConnection(scope)).metrics
        try:
            with metrics.under_way.track_inprogress():
                await self._app(scope, receive, watched.send)
        except Exception:
            watched.status = watched.status or 500
            raise
        finally:
            request = watched.seen()
            metrics.count(request, database_error="database_error" in scope["state"])
            tell(request)

    async def note(self, scope: Scope, request: SeenRequest, detail: str) -> None:
        """Store a request in the audit log, if it changes something or was refused."""
        refused = request.status in REFUSED
        if not (refused or request.changes):
            return
        if refused and self._refusals.wait_s(network_of(request.address)):
            return
        route = request.path if request.route.startswith("unmatched") else request.route
        done = AuditedAction(
            request.who, request.address, f"{request.method} {route}", request.target, request.status, detail
        )
        with suppress(ResultsError):  # the request is logged; a full disk must not end the service
            await run_in_threadpool(parts_of(HTTPConnection(scope)).store.audit.note, done)


class WatchedAnswer:
    """The answer to one request, while it is sent.

    Attributes:
        status: of HTTP; 0 before it is known.
    """

    def __init__(self, scope: Scope, send: Send, observer: RequestObserver) -> None:
        scope.setdefault("state", {})
        self.scope = scope
        self.status = 0
        self._send = send
        self._observer = observer
        self._id = uuid4().hex[:16]
        self._begun = time.perf_counter()
        self._streams = False
        self._streamed_ms: float | None = None
        self._location = ""
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Send a part; the first waits for the second, so that the audit log knows more than who gets the answer."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._id
            self.status, self._location = message["status"], headers.get("location", "")
            self._streams = headers.get("content-type", "").startswith("text/event-stream")
            self._start = message
            if self._streams:
                self._streamed_ms = self._ms()
            return
        if self._start is not None:
            start, self._start = self._start, None
            await self._observer.note(self.scope, self.seen(), _detail(self.status, start, message))
            await self._send(start)
        await self._send(message)

    def seen(self) -> SeenRequest:
        """Tell of the request until now."""
        ms = self._ms() if self._streamed_ms is None else self._streamed_ms
        return seen(self.scope, self._id, self.status, self._location, ms)

    def _ms(self) -> float:
        return (time.perf_counter() - self._begun) * 1000


def _detail(status: int, start: Message, body: Message) -> str:
    """The sentence of a refusal."""
    if status not in REFUSED or Headers(raw=start["headers"]).get("content-type") != "application/problem+json":
        return ""
    try:
        return masked(str(json.loads(body.get("body", b""))["detail"]))[:LONGEST_DETAIL]
    except (ValueError, KeyError):
        return ""
