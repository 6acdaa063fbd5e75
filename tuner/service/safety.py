"""What stands before every request: size limits, a check of who asks, and headers that keep browsers careful."""

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .headers import SECURITY_HEADERS
from .problems import Problem, answer
from .settings import is_loopback

MOST_BYTES = 1_000_000
"""Of the body of a request."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
TOO_LARGE = f"The body of a request may have {MOST_BYTES:,} bytes at most."


class Safety:
    """Lets a request through to an application, or answers with a problem.

    Names that are not this machine's are refused, because a page of the web could have its own name point here. A
    request that changes something must not come from another site's page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

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

        refusal = _refused(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, _limited(receive), with_headers)


def _refused(method: str, headers: Headers) -> ASGIApp | None:
    """The answer to a request that goes no further, or None."""
    host = _host(f"//{headers.get('host', '')}")
    if not is_loopback(host):
        return answer(421, "The service answers only under a name of this machine, such as localhost.")
    origin = headers.get("origin")
    other = origin is not None and urlsplit(origin).netloc != headers["host"]
    if method not in READING and (other or headers.get("sec-fetch-site") in {"cross-site", "same-site"}):
        return answer(403, "A page of another site cannot change anything here.")
    if _length(headers) > MOST_BYTES:
        return answer(413, TOO_LARGE)
    return None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _length(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    return int(said) if said.isdecimal() else 0


def _limited(receive: Receive) -> Receive:
    """Read a body without a stated length only up to the limit."""
    read = 0

    async def counted() -> Any:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > MOST_BYTES:
            raise Problem(413, TOO_LARGE)
        return message

    return counted
