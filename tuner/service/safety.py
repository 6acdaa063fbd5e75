"""What stands before every request: size limits, the name of the service, and headers that keep browsers careful."""

from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .addresses import OwnNames, host_in_header, place_in_origin
from .config import ServiceConfig
from .headers import SECURITY_HEADERS
from .identity.arrival import Arrival
from .problems import Problem, answer

READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Safety:
    """Lets a request through to an application, or answers with a problem.

    Names that are not the service's are refused, because a page of the web could have its own name point here. A
    request that changes something must not come from another site's page.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig, *, only_by_proxy: bool) -> None:
        self._app = app
        self._only_by_proxy = only_by_proxy
        self._names = OwnNames(config.listen)
        self._most_bytes = config.limits.body_bytes
        self._too_large = f"The body of a request may have {self._most_bytes:,} bytes at most."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] == "HEAD":
            scope, receive, send = _as_get(scope, receive, send)
        refusal = self._refused_way(scope["state"]["arrival"]) or self._refused(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, self._limited(receive), with_headers)

    def _refused_way(self, arrival: Arrival) -> ASGIApp | None:
        if self._only_by_proxy and not arrival.proxied and not arrival.is_local:
            return answer(403, "Ask through the proxy of this service: here all would cross the network in plain text.")
        return None

    def _refused(self, method: str, headers: Headers) -> ASGIApp | None:
        """The answer to a request that goes no further, or None."""
        if host_in_header(headers.get("host", "")) not in self._names:
            return answer(421, self._names.sentence)
        origin = headers.get("origin")
        other = origin is not None and place_in_origin(origin) != headers["host"]
        if method not in READING and (other or headers.get("sec-fetch-site") in {"cross-site", "same-site"}):
            return answer(403, "A page of another site cannot change anything here.")
        if _length(headers) > self._most_bytes:
            return answer(413, self._too_large)
        return None

    def _limited(self, receive: Receive) -> Receive:
        """Read a body without a stated length only up to the limit."""
        read = 0

        async def counted() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most_bytes:
                raise Problem(413, self._too_large)
            return message

        return counted


def _as_get(scope: Scope, receive: Receive, send: Send) -> tuple[Scope, Receive, Send]:
    """Ask what GET would answer, and send all but its content (RFC 9110, 9.3.2); a stream ends with its head."""
    begun = False

    async def head_only(message: Message) -> None:
        nonlocal begun
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            begun = True

    async def until_begun() -> Any:
        return {"type": "http.disconnect"} if begun else await receive()

    return {**scope, "method": "GET"}, until_begun, head_only


def _length(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    return int(said) if said.isdecimal() else 0
