"""A service in this process, and clients that ask it from any address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from results.store.store import Store
from tuner.service.app import create_app
from tuner.service.config import ServiceConfig
from tuner.service.settings import ServiceSettings
from tuner.user_dirs import UserDirs


def client_of(app: FastAPI, address: str = "127.0.0.1", url: str = "http://localhost") -> TestClient:
    """Somebody at an address, who follows no redirects."""
    return TestClient(
        app, base_url=url, raise_server_exceptions=False, client=(address, 50_000), follow_redirects=False
    )


@contextmanager
def served(store: Store, folder: Path, config: ServiceConfig | None = None) -> Iterator[TestClient]:
    """Serve a store, and start no campaigns; the client is on the same machine."""
    dirs = UserDirs(folder / "cache", folder / "data")
    mine = os.geteuid()  # there is no connection of which the kernel could tell whose it is
    settings = ServiceSettings(
        dirs, store.place, config or ServiceConfig(), starts_campaigns=False, uid_of=lambda _: mine
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
