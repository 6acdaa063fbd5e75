"""Finds out who sends a request, before anything else looks at it."""

from getpass import getuser

from starlette.types import ASGIApp, Receive, Scope, Send

from results.store.service.access import AccessScope

from .caller import Caller


class Gate:
    """Notes who sends each request: whoever reaches the service from this machine is its admin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._admin = getuser()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            address = scope["client"][0] if scope["client"] else ""
            scope.setdefault("state", {})["caller"] = Caller(self._admin, AccessScope.ADMIN, address)
        await self._app(scope, receive, send)
