"""Asks a service over HTTP."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from ..errors import TunerError, UsageError
from .problems import NoAnswerError, checked, not_a_service, of_transport
from .server import Server

M = TypeVar("M", bound=BaseModel)
ANSWER_S, CONNECT_S = 60.0, 10.0
SILENCE_S = 45.0
"""Seconds without a sign of life after which a stream is lost; a service sends one each 15 s."""
TRIES, BETWEEN_S = 4, 1.0


class Connection:
    """Asks one service; any thread may use it.

    Args:
        answer_s: seconds for which an answer is waited.

    Raises:
        UsageError: the certificates that SSL_CERT_FILE names cannot be read.
    """

    def __init__(self, server: Server, answer_s: float = ANSWER_S) -> None:
        self.server = server
        headers = {"User-Agent": f"hpltune/{version('hpltune')}", "Accept": "application/json, */*"}
        if server.token is not None:
            headers["Authorization"] = f"Bearer {server.token}"
        timeout = httpx2.Timeout(answer_s, connect=min(answer_s, CONNECT_S))
        try:
            self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=timeout)
        except OSError as error:  # of the certificates that are trusted
            file = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
            raise UsageError(f"SSL_CERT_FILE names {file}, which holds no certificates that can be read") from error

    def close(self) -> None:
        """Ask nothing more."""
        self._http.close()

    def get(self, address: str, model: type[M], **query: Any) -> M:
        """Read what is at an address.

        Args:
            query: None leaves a word out.

        Raises:
            TunerError: a sentence says why not.
        """
        return self._read(self._asked("GET", address, params=_given(query)), model)

    def text(self, address: str, **query: Any) -> str:
        """Read a text.

        Raises:
            TunerError: a sentence says why not.
        """
        return self._asked("GET", address, params=_given(query)).text

    def send(self, method: str, address: str, model: type[M], **more: Any) -> M:
        """Change something, once only: a request whose answer was lost is not repeated.

        Args:
            more: `json` and `headers`, as httpx takes them.

        Raises:
            TunerError: a sentence says why not.
        """
        return self._read(self._once(method, address, **more), model)

    def send_again(self, method: str, address: str, model: type[M], **more: Any) -> M:
        """Change something as `send` does, and repeat it where the answer was lost: the service knows it by a key.

        Raises:
            TunerError: a sentence says why not.
        """
        return self._read(self._asked(method, address, **more), model)

    @contextmanager
    def chunks(self, address: str, **query: Any) -> Iterator[Iterator[bytes]]:
        """Read what is at an address a few bytes at a time.

        Raises:
            TunerError: a sentence says why not.
        """
        with self._streamed(address, {}, ANSWER_S, _given(query)) as response:
            yield response.iter_bytes()

    @contextmanager
    def stream(self, address: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """Read server-sent events.

        Raises:
            NoAnswerError: the connection was lost, also while the block reads.
            TunerError: a sentence says why not.
        """
        with self._streamed(address, headers, SILENCE_S) as response:
            yield response

    @contextmanager
    def _streamed(
        self, address: str, headers: Mapping[str, str], silence_s: float, query: Mapping[str, Any] | None = None
    ) -> Iterator[httpx2.Response]:
        timeout = httpx2.Timeout(silence_s, connect=CONNECT_S)
        try:
            with self._http.stream("GET", address, headers=headers, params=query, timeout=timeout) as response:
                yield checked(response, self.server.url)
        except httpx2.TransportError as error:
            raise of_transport(error, self.server.url) from error

    def _asked(self, method: str, address: str, **more: Any) -> httpx2.Response:
        """Ask, and once more where the connection was lost in the middle; not where nobody answers at all."""
        for left in reversed(range(TRIES)):
            try:
                return self._once(method, address, **more)
            except NoAnswerError as error:
                if not left or isinstance(error.__cause__, httpx2.ConnectError | httpx2.TimeoutException):
                    raise
                time.sleep(BETWEEN_S)
        raise AssertionError

    def _once(self, method: str, address: str, **more: Any) -> httpx2.Response:
        try:
            return checked(self._http.request(method, address, **more), self.server.url)
        except httpx2.TransportError as error:
            raise of_transport(error, self.server.url) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise TunerError(f"{address} cannot be asked for: {error}") from error

    def _read(self, response: httpx2.Response, model: type[M]) -> M:
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise not_a_service(self.server.url) from error


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
