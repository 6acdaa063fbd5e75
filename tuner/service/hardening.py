"""What stands before every request: size limits, the name of the service, and headers that keep browsers careful."""

import re
import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .config import ListenTable, ServiceConfig, is_loopback
from .problems import Problem, ProblemAnswer
from .proxy_headers import RequestSource
from .responses import SECURITY_HEADERS

READING = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_QUERY_BYTES = 8_000
"""Reading a query takes time of all."""


class Hardening:
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
        refusal = self._refused_way(scope["state"]["source"]) or self._refused(scope["method"], Headers(scope=scope))
        if len(scope["query_string"]) > MOST_QUERY_BYTES:
            refusal = ProblemAnswer(414, f"A query may have {MOST_QUERY_BYTES:,} bytes at most.")
        await (refusal or self._app)(scope, self._limited(receive), with_headers)

    def _refused_way(self, source: RequestSource) -> ASGIApp | None:
        if self._only_by_proxy and not source.proxied and not source.is_local:
            return ProblemAnswer(
                403, "Ask through the proxy of this service: here all would cross the network in plain text."
            )
        return None

    def _refused(self, method: str, headers: Headers) -> ASGIApp | None:
        """The answer to a request that goes no further, or None."""
        if host_in_header(headers.get("host", "")) not in self._names:
            return ProblemAnswer(421, self._names.sentence)
        origin = headers.get("origin")
        other = origin is not None and place_in_origin(origin) != headers["host"]
        if method not in READING and (other or headers.get("sec-fetch-site") in {"cross-site", "same-site"}):
            return ProblemAnswer(403, "A page of another site cannot change anything here.")
        if _length(headers) > self._most_bytes:
            return ProblemAnswer(413, self._too_large)
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


_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
"""What a header Host may be: a name or an address, and a port (RFC 9112, 3.2, without user information)."""
LAST_PORT = 65535


def host_in_header(text: str) -> str:
    """The host in a header Host in small letters; "" where it is anything but a host and a port."""
    found = _HOST.fullmatch(text)
    if found is None or int(found["port"] or 0) > LAST_PORT:
        return ""
    return found["name"].strip("[]").lower()


def place_in_origin(text: str) -> str | None:
    """The host and port in a header Origin; None where it cannot be read."""
    try:
        return urlsplit(text).netloc
    except ValueError:
        return None


class OwnNames:
    """The names under which a service answers.

    On loopback these are this machine's, because a page of the web could have its own name point here; beyond loopback
    also the machine's name, and any address, which no other page can have for a name.
    """

    def __init__(self, listen: ListenTable) -> None:
        self._beyond = not is_loopback(listen.host)
        self._names = {name.lower() for name in listen.names}
        if self._beyond:
            self._names |= {listen.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}

    @property
    def sentence(self) -> str:
        """What is said to those who use another name."""
        if self._beyond:
            return "The service does not answer under this name: `names` in [listen] of its file lists further ones."
        return "The service answers only under a name of this machine, such as localhost."

    def __contains__(self, host: str) -> bool:
        return is_loopback(host) or host in self._names or (self._beyond and _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
