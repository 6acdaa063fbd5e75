"""Watches every request from outside: its log line, its metrics, and its row in the audit log."""

import json
import time
from contextlib import suppress
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from results.errors import ResultsError
from results.store.service.audit import Deed

from ..identity.rate_limit import RateLimit, network_of
from .logs import tell
from .metrics import RequestMetrics
from .seen import REFUSED, SeenRequest, masked, seen

REFUSALS_PER_MINUTE = 10
"""Of one address that are noted in the audit log: it must not grow by what strangers send."""
LONGEST_DETAIL = 300


class Observer:
    """Watches requests; nothing of what it does changes an answer."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics
        self._refusals = RateLimit(REFUSALS_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        watched = WatchedAnswer(scope, send, self)
        self._metrics.under_way += 1
        try:
            await self._app(scope, receive, watched.send)
        except Exception:
            watched.status = watched.status or 500
            raise
        finally:
            self._metrics.under_way -= 1
            self._told(watched)

    def _told(self, watched: "WatchedAnswer") -> None:
        request = watched.seen()
        self._metrics.count(request)
        self._metrics.database_errors += bool(watched.scope["state"].get("database_error"))
        tell(request)

    async def note(self, scope: Scope, request: SeenRequest, detail: str) -> None:
        """Store a request in the audit log, if it changes something or was refused."""
        refused = request.status in REFUSED
        if not (refused or request.changes):
            return
        if refused and self._refusals.wait_s(network_of(request.address)):
            return
        route = request.path if request.route.startswith("unmatched") else request.route
        deed = Deed(request.who, request.address, f"{request.method} {route}", request.target, request.status, detail)
        with suppress(ResultsError):  # the request is logged; a full disk must not end the service
            await run_in_threadpool(scope["app"].state.store.audit.note, deed)


class WatchedAnswer:
    """The answer to one request, while it is sent.

    Attributes:
        status: of HTTP; 0 before it is known.
    """

    def __init__(self, scope: Scope, send: Send, observer: Observer) -> None:
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
            detail = _detail(self.status, start, message)
            await self._observer.note(self.scope, self.seen(), detail)
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
