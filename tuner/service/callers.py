"""Who sends a request, as the middleware noted it, and the cookie that browsers send."""

from dataclasses import dataclass

from starlette.requests import HTTPConnection, Request

from results.store.service.tokens import AccessScope

COOKIE, SECURE_COOKIE = "hpltune", "__Host-hpltune"
"""Names of the cookie over HTTP on this machine, and over HTTPS, where browsers keep it from other hosts."""


@dataclass(frozen=True)
class Caller:
    """Who sends a request.

    Attributes:
        name: of the token, of the user whom a proxy names, or of the user who runs the service.
        scope: what the caller may do.
        address: the network address from which the request came.
    """

    name: str
    scope: AccessScope
    address: str


def noted_caller(request: HTTPConnection) -> Caller | None:
    """Return who sends a request; None where nobody knows, or has asked yet."""
    caller = request.scope.get("state", {}).get("caller")
    return caller if isinstance(caller, Caller) else None


def caller_of(request: Request) -> Caller:
    """Return who sends a request."""
    caller = noted_caller(request)
    assert caller is not None  # noqa: S101 - the middleware lets nobody else through
    return caller


def cookie_name(request: HTTPConnection) -> str:
    """The name of the cookie of a session; over HTTPS one that browsers send to this host only.

    It has the port, because browsers send cookies of a host to all its ports: two services keep two sessions.
    """
    port = (request.scope.get("server") or ("", 0))[1]
    return f"{SECURE_COOKIE if request.url.scheme == 'https' else COOKIE}-{port or 0}"
