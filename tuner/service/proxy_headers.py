"""From where a request came, and whether a proxy that is trusted has passed it on."""

import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from .config import ProxyTable
from .peers import Place, UidOf, is_own
from .problems import Problem, ProblemAnswer
from .responses import SECURITY_HEADERS

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
"""Headers by which a proxy shows itself."""


@dataclass(frozen=True)
class RequestSource:
    """From where a request came.

    Attributes:
        address: of the one who asks, as a trusted proxy says it, else of the peer.
        proxied: a trusted proxy passed it on, so that its headers are believed.
        forwarded: it has headers of a proxy, trusted or not.
    """

    address: str
    proxied: bool
    forwarded: bool

    @property
    def is_local(self) -> bool:
        """Whether it was sent on this machine, by a program that is no proxy."""
        found = parsed_address(self.address)
        return found is not None and found.is_loopback and not self.forwarded and not self.proxied


class ProxyHeaders:
    """Notes from where each request came, as a `RequestSource` in its state.

    What a trusted proxy says of address, scheme and host takes the place of what the connection says. Of the programs
    of this machine only those of the proxy's user and of root are trusted.
    """

    def __init__(self, app: ASGIApp, proxy: ProxyTable | None, uid_of: UidOf) -> None:
        self._app = app
        self._trusted = [] if proxy is None else [ip_network(one) for one in proxy.trusted]
        named = None if proxy is None or proxy.user is None else pwd.getpwnam(proxy.user).pw_uid
        self._believed = {0, named} - {None}
        self._uid_of = uid_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            source = self._source(scope)
        except Problem as problem:
            await ProblemAnswer(problem.status_code, str(problem.detail), SECURITY_HEADERS)(scope, receive, send)
            return
        scope.setdefault("state", {})["source"] = source
        await self._app(scope, receive, send)

    def _source(self, scope: Scope) -> RequestSource:
        headers = Headers(scope=scope)
        peer = scope["client"][0] if scope["client"] else ""
        forwarded = any(name in headers for name in FORWARDED)
        if not self._trusts(peer) or not self._is_believed(tuple(scope["client"]), tuple(scope["server"])):
            return RequestSource(_written(peer), proxied=False, forwarded=forwarded)
        scheme = single_header(headers, "x-forwarded-proto")
        if scheme in {"http", "https"}:
            scope["scheme"] = scheme
        host = single_header(headers, "x-forwarded-host")
        if host:
            MutableHeaders(scope=scope)["host"] = host
        return RequestSource(self._first_other(headers.getlist("x-forwarded-for")) or _written(peer), True, forwarded)

    def _is_believed(self, client: Place, server: Place) -> bool:
        """Whether the program at the other end is of another machine, or of the proxy's user here."""
        uid = self._uid_of(client, server)
        return uid in self._believed if uid is not None else not is_own(client[0])

    def _trusts(self, address: str) -> bool:
        found = parsed_address(address)
        return found is not None and any(found in network for network in self._trusted)

    def _first_other(self, lines: Sequence[str]) -> str | None:
        """The nearest address that is no trusted proxy's: what stands before it anybody can have written."""
        for text in reversed([part.strip() for line in lines for part in line.split(",")]):
            if not self._trusts(text):
                return _written(text) if parsed_address(text) else None
        return None


def parsed_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address, an IPv4 address inside of IPv6 as itself; None for any other text."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _written(address: str) -> str:
    return str(parsed_address(address) or address)


def single_header(headers: Headers, name: str) -> str | None:
    """Read a header that may be there once.

    Raises:
        Problem: it is there twice: a proxy has let one of somebody else through.
    """
    values = headers.getlist(name)
    if len(values) > 1:
        raise Problem(400, f"There are two headers {name}: the proxy must replace what others send.")
    return values[0].strip() if values else None
