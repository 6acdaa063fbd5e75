"""A service in this process, and clients that ask it from any address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from results.store.store import Store
from tuner.service.app import create_app
from tuner.service.config import ServiceConfig, ServiceSettings
from tuner.service.peers import Place, UidOf
from tuner.service.proxy_headers import parsed_address
from tuner.user_dirs import UserDirs


def client_of(app: FastAPI, address: str = "127.0.0.1", url: str = "http://localhost") -> TestClient:
    """Somebody at an address, who follows no redirects."""
    return TestClient(
        app, base_url=url, raise_server_exceptions=False, client=(address, 50_000), follow_redirects=False
    )


def _mine_here(client: Place, _server: Place) -> int | None:
    found = parsed_address(client[0])
    return os.geteuid() if found is not None and found.is_loopback else None


@contextmanager
def served(
    store: Store, folder: Path, config: ServiceConfig | None = None, uid_of: UidOf | None = None
) -> Iterator[TestClient]:
    """Serve a store, and start no campaigns; the client is on the same machine.

    Args:
        uid_of: whose the other end of a connection is, of which there is none that the kernel could tell of; None says
            that those of this machine are this user's.
    """
    dirs = UserDirs(folder / "cache", folder / "data")
    settings = ServiceSettings(
        dirs, store.place, config or ServiceConfig(), starts_campaigns=False, uid_of=uid_of or _mine_here
    )
    with client_of(create_app(settings)) as client:
        yield client


def of_client(client: TestClient) -> FastAPI:
    """The application that a client asks."""
    assert isinstance(client.app, FastAPI)
    return client.app


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}
