from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from results.store.store import Store
from tuner.service.app import create_app
from tuner.service.settings import ServiceSettings
from tuner.user_dirs import UserDirs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The database of the service."""
    with Store.open(tmp_path / "hpltune.db") as store:
        yield store


@pytest.fixture
def client(tmp_path: Path, store: Store) -> Iterator[TestClient]:
    """Asks a service in this process, which starts no campaigns."""
    folders = UserDirs(tmp_path / "cache", tmp_path / "data")
    settings = ServiceSettings(folders, store.place, starts_campaigns=False)
    app = create_app(settings)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client
