"""The HTTP server: takes the port, answers until it is asked to end, and ends in order."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from os import strerror
from typing import cast

import uvicorn
from fastapi import FastAPI

from runners.toml_file import ClusterFileError

from ..database import open_store
from ..errors import TunerError, UsageError
from .app import create_app
from .campaigns.offered import offered_by
from .config import ListenTable, ServiceSettings, check_tls, read_config
from .connections import Doors, PatientProtocol, TlsDoor
from .notifications import check_addresses
from .parts import ServiceParts
from .request_log import log_config

LOGGER = logging.getLogger("hpltune.service")
DRAIN_S = 5
"""Seconds that requests under way may take when the server ends."""


AT_ONCE = 64
"""Connections that are taken before those that are there are looked at: so many may be open beyond the most."""


class HttpServer(uvicorn.Server):
    """A server that leaves signals to its caller, and lets streams end first when it ends.

    Args:
        app: what it serves.
    """

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End in order."""
        self._app.state.parts.live.drain()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class Service:
    """A service that has its port, and answers once it is run.

    Attributes:
        url: where it answers.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        with open_store(settings.db, settings.user_dirs) as store:
            settings.check(store)
            check_addresses(settings, settings.db or str(settings.user_dirs.database))
        listen, self._settings = settings.config.listen, settings
        self._context = None if listen.certificate is None else ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._socket = _bound(listen)
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        self.url = f"{'https' if listen.certificate else 'http'}://{host}:{self._socket.getsockname()[1]}"
        self._app = app = create_app(settings)
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", _protocol(listen, self._context)),
            log_config=log_config(settings.log),
            server_header=False,
            ws="none",
            proxy_headers=False,
            timeout_graceful_shutdown=DRAIN_S,
            backlog=AT_ONCE,
        )
        self._server = HttpServer(config, app)

    def run(self) -> None:
        """Answer requests until `end` is called."""
        with self._socket:
            self._server.run([self._socket])

    def reload(self) -> None:
        """Read the certificate, and what the configuration offers, again; where something in them is wrong, go on."""
        listen, file = self._settings.config.listen, self._settings.config_file
        parts: ServiceParts | None = getattr(self._app.state, "parts", None)
        try:
            if self._context is not None and listen.certificate is not None and listen.key is not None:
                check_tls(listen.certificate, listen.key)
                self._context.load_cert_chain(listen.certificate, listen.key)
            if file is not None and parts is not None:
                parts.dispatcher.offered = offered_by(read_config(file), parts.offered.machine)
            LOGGER.info("certificate, offers and limits of campaigns were read again; all else needs a start")
        except (TunerError, ClusterFileError, OSError) as error:
            LOGGER.warning("certificate and offers were not read again: %s", error)

    def end(self) -> None:
        """Let `run` return when the requests under way are answered; a second call does not wait for them."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True


def _protocol(listen: ListenTable, context: ssl.SSLContext | None) -> Callable[..., asyncio.Protocol]:
    """Make what answers on a connection, over TLS where there is a certificate."""
    doors = Doors()
    answering = partial(PatientProtocol, doors=doors)
    if context is None or listen.certificate is None:
        return answering
    context.load_cert_chain(listen.certificate, listen.key)
    return lambda **of_server: TlsDoor(partial(answering, **of_server), context, doors)


def _bound(listen: ListenTable) -> socket.socket:
    """Take the port.

    Raises:
        TunerError: it is in use, or may not be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(
            f"there is no such address here ({error.strerror})", field="host", given=listen.host
        ) from error
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        bound.listen()
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            said = "is in use, perhaps by another hpltune serve: end that one, or choose another with ⟦port⟧"
        else:
            said = f"cannot be used ({strerror(error.errno or 0)}): choose another with ⟦port⟧"
        raise TunerError(f"port {listen.port} {said}") from error
    return bound
