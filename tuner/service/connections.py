"""What a connection may take before anybody knows who sends it: time for its head and its body, and a place.

A stranger who opens connections and says nothing would take all descriptors of the process, which starts campaigns too.
"""

import asyncio
import resource
import ssl
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Any, Protocol

from uvicorn.protocols.http.h11_impl import H11Protocol

from runners.process_tree import OWN, raise_open_files

HEAD_S = 15.0
"""Seconds for the whole head of a request, from its first byte or the begin of the connection."""
BODY_S = 60.0
"""Seconds for its whole body, which has a megabyte at most."""
TAKING_S = 60.0
"""Seconds for which the other side may take nothing of an answer."""
WAITING_OF_ONE = 64
"""Connections of one address that may be without a whole head or body; the oldest goes where there are more."""
WANTED = 16_384
"""Descriptors that a service asks for, where the system lets it."""


class Stranger(Protocol):
    """A connection of which nobody knows yet what it wants."""

    def give_up(self) -> None:
        """End it."""


class Doors:
    """The connections of a service whose senders nobody knows yet.

    Attributes:
        most: connections at a time; the descriptors that are left are for the service's own work.
    """

    def __init__(self) -> None:
        raise_open_files(WANTED)
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = WANTED if soft == resource.RLIM_INFINITY else max(WAITING_OF_ONE, soft - OWN)
        self._waiting: dict[str, dict[Stranger, None]] = {}

    def wait(self, one: "Stranger", address: str) -> None:
        """Note a connection without a whole head or body, and end the oldest of its address if there are too many."""
        own = self._waiting.setdefault(address, {})
        own[one] = None
        if len(own) > WAITING_OF_ONE:
            next(iter(own)).give_up()

    def known(self, one: "Stranger", address: str) -> None:
        """Note that a connection's head or body is there, or that it has ended."""
        own = self._waiting.get(address, {})
        own.pop(one, None)
        if not own:
            self._waiting.pop(address, None)


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol of a connection, whose patience with a sender ends."""

    def __init__(self, *arguments: Any, doors: Doors, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._doors = doors
        self._timer: TimerHandle | None = None
        self._taking: TimerHandle | None = None
        self._of_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        if len(self.connections) > self._doors.most:
            transport.abort()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop()
        self._taken()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            if self._timer is None:
                self._wait()
        elif not self.cycle.more_body:
            self._stop()
        elif not self._of_body:
            self._stop()
            self._of_body = True
            self._wait(BODY_S)

    def on_response_complete(self) -> None:
        """Go on with the next request, for which uvicorn's own patience counts until its first byte."""
        self._stop()
        super().on_response_complete()

    def give_up(self) -> None:
        """End the connection."""
        self._stop()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Begin to wait until the other side takes what is written."""
        super().pause_writing()
        self._taking = self.loop.call_later(TAKING_S, self.give_up)

    def resume_writing(self) -> None:
        """Wait for that no more."""
        super().resume_writing()
        self._taken()

    def _taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
        self._taking = None

    def _wait(self, patience_s: float | None = None) -> None:
        self._timer = self.loop.call_later(HEAD_S if patience_s is None else patience_s, self.give_up)
        self._doors.wait(self, self.client[0] if self.client else "")

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._of_body = None, False
        self._doors.known(self, self.client[0] if self.client else "")


class TlsDoor(asyncio.Protocol):
    """A connection until its TLS handshake is done, which takes a place like a head that does not come.

    Args:
        answering: makes the protocol that answers requests over it.
    """

    def __init__(self, answering: Callable[[], PatientProtocol], context: ssl.SSLContext, doors: Doors) -> None:
        self._answering = answering
        self._context = context
        self._doors = doors
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._early = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake."""
        self._transport = transport
        self._address = (transport.get_extra_info("peername") or ("",))[0]
        self._doors.wait(self, self._address)
        self._task = asyncio.get_running_loop().create_task(self._shake_hands(transport))

    def data_received(self, data: bytes) -> None:
        """Keep what comes with the end of the handshake, until there is who answers it."""
        self._early += data

    def connection_lost(self, _error: Exception | None) -> None:
        """Wait for nothing more."""
        self._doors.known(self, self._address)

    def give_up(self) -> None:
        """End the connection."""
        self._doors.known(self, self._address)
        if self._transport is not None:
            self._transport.abort()

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(
                transport, self, self._context, server_side=True, ssl_handshake_timeout=HEAD_S
            )
        except (OSError, ssl.SSLError):
            secured = None
        finally:
            self._doors.known(self, self._address)
        if secured is None:
            transport.abort()
            return
        answering = self._answering()
        secured.set_protocol(answering)
        answering.connection_made(secured)
        if self._early:
            answering.data_received(self._early)
