"""Who sends a request and what they may do: by a token, a session, a trusted proxy, or by being on this machine."""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import psutil
from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from results.errors import ResultsError
from results.store.service.tokens import AccessScope, TokenEntry, TokenState
from results.store.store import Store

from .callers import Caller, caller_of, cookie_name
from .config import ProxyTable, ServiceConfig, is_loopback
from .peers import UidOf
from .problems import Problem
from .proxy_headers import RequestSource, single_header
from .sessions import SessionKeeper

ScopeName = Literal["read", "run", "admin"]
_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="A token that `hpltune token create` printed.")
UNKNOWN_CALLER = (
    "This service needs a token: send `Authorization: Bearer TOKEN` with one that `hpltune token create` has printed."
)


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


@dataclass(frozen=True)
class Admission:
    """Somebody who may come in.

    Attributes:
        binding: what tokens of forms are bound to.
        unlimited: nobody counts the requests.
    """

    caller: Caller
    binding: str
    unlimited: bool = False


class Authenticator:
    """Finds out who sends a request."""

    def __init__(self, store: Store, config: ServiceConfig, sessions: SessionKeeper, uid_of: UidOf) -> None:
        self._store = store
        self._proxy = config.proxy
        self._only_here = is_loopback(config.listen.host) and config.proxy is None
        self._sessions = sessions
        self._uid_of = uid_of
        self._tokens_exist = False
        self._looked_at = ""
        self._me = psutil.Process().username()

    def authenticate(self, request: HTTPConnection) -> Admission:
        """Return who sends a request.

        Raises:
            Problem: 401 or 403, with what to do.
        """
        source: RequestSource = request.state.source
        given = request.headers.get("authorization")
        if given is not None:
            return self._of_token(given, source)
        cookie = request.cookies.get(cookie_name(request))
        if cookie:
            found = self._of_cookie(cookie, source)
            if found is not None:
                return found
        if source.proxied and self._proxy is not None:
            return _of_proxy(self._proxy, request, source)
        if self._only_here and source.is_local and not self._closed():
            client, server = request.scope.get("client"), request.scope.get("server")
            if not client or not server or self._uid_of(tuple(client), tuple(server)) not in {0, os.geteuid()}:
                raise _refusal(f"Without a token only {self._me} may come in, who runs this service. {UNKNOWN_CALLER}")
            return Admission(Caller(self._me, AccessScope.ADMIN, source.address), f"user:{self._me}", unlimited=True)
        raise _refusal(UNKNOWN_CALLER)

    async def still_admits(self, request: HTTPConnection) -> bool:
        """Whether who sent a request may still read: a token may be revoked while its stream goes on."""
        try:
            await run_in_threadpool(self.authenticate, request)
        except Problem:
            return False
        except ResultsError:  # the database is away
            return True
        return True

    def _closed(self) -> bool:
        """Whether there are tokens; once there is one, there will always be one."""
        if not self._tokens_exist:
            version = self._store.lists.version()
            if version != self._looked_at and self._store.tokens.exist():
                self._tokens_exist = True
            self._looked_at = version
        return self._tokens_exist

    def _of_token(self, given: str, source: RequestSource) -> Admission:
        kind, _, token = given.partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise _refusal("The Authorization header must be `Bearer`, a space and a token.", "invalid_request")
        entry = valid_token(self._store, token.strip())
        return Admission(Caller(entry.name, entry.scope, source.address), f"token:{entry.hash}")

    def _of_cookie(self, cookie: str, source: RequestSource) -> Admission | None:
        session = self._sessions.read(cookie)
        entry = self._store.tokens.of_hash(session.token_hash) if session else None
        if session is None or entry is None or entry.state(datetime.now(UTC)) is not TokenState.VALID:
            return None
        _note_use(self._store, entry)
        return Admission(Caller(entry.name, entry.scope, source.address), session.binding)


def valid_token(store: Store, token: str) -> TokenEntry:
    """Find a token that works, and note its use.

    Raises:
        Problem: it does not work.
    """
    entry = store.tokens.find(token)
    if entry is None:
        raise _refusal(
            "This token is not known here: look whether it is whole, and made for this service.", "invalid_token"
        )
    state = entry.state(datetime.now(UTC))
    if state is TokenState.EXPIRED:
        raise _refusal(f"The token of {entry.name} has expired: ask for a new one.", "invalid_token")
    if state is TokenState.REVOKED:
        raise _refusal(f"The token of {entry.name} was revoked: ask for a new one.", "invalid_token")
    _note_use(store, entry)
    return entry


def _of_proxy(proxy: ProxyTable, request: HTTPConnection, source: RequestSource) -> Admission:
    user = single_header(request.headers, proxy.user_header)
    if not user or not user.isprintable():
        raise _refusal(f"The proxy names no user in {proxy.user_header}: sign in there, or send a token.")
    said = single_header(request.headers, proxy.groups_header) or ""
    groups = {"*", *(group.strip() for group in said.split(","))}
    scopes = [scope for scope in AccessScope if groups & set(proxy.scopes.get(scope.value, ()))]
    if not scopes:
        raise Problem(403, f"{user} is in no group that may use this service: [proxy.scopes] names those that may.")
    return Admission(Caller(user, scopes[-1], source.address), f"user:{user}")


def _refusal(sentence: str, error: str = "") -> Problem:
    more = f', error="{error}"' if error else ""
    return Problem(401, sentence, {"WWW-Authenticate": f'Bearer realm="hpltune"{more}'})


def _note_use(store: Store, entry: TokenEntry) -> None:
    with suppress(ResultsError):  # who only reads is let in also where nothing can be written
        store.tokens.note_use(entry)
