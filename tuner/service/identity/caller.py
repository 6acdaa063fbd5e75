"""Who sends a request, and the dependencies by which handlers say what a caller must be allowed to do."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from results.store.service.access import AccessScope

from ..problems import Problem

ScopeName = Literal["read", "run", "admin"]
_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="A token that `hpltune token create` printed.")


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


def caller_of(request: Request) -> Caller:
    """Return who sends a request."""
    caller = request.state.caller
    assert isinstance(caller, Caller)  # noqa: S101 - `Gate` lets nobody else through
    return caller


def demand(caller: Caller, needed: AccessScope) -> None:
    """Refuse a caller who may not do something.

    Raises:
        Problem: the caller's scope is too small.
    """
    if not caller.scope.covers(needed):
        raise Problem(
            403,
            f"This needs scope {needed}, and {caller.name} has only scope {caller.scope}.",
            {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{needed}"'},
        )


def _allowed(
    scopes: SecurityScopes,
    caller: Annotated[Caller, Depends(caller_of)],
    _told: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],  # the OpenAPI document names it
) -> Caller:
    for scope in scopes.scopes:
        demand(caller, AccessScope(scope))
    return caller


def needs(scope: ScopeName) -> Any:
    """Make the dependency of a handler, or of a router, whose callers must have a scope; it gives the caller.

    A handler takes `caller: Annotated[Caller, needs("run")]`, a router `dependencies=[needs("read")]`.
    """
    return Security(_allowed, scopes=[scope])
