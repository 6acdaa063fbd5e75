from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_client import served

from results.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The database of the service."""
    with Store.open(tmp_path / "hpltune.db") as store:
        yield store


@pytest.fixture
def client(tmp_path: Path, store: Store) -> Iterator[TestClient]:
    """Asks a service in this process, which starts no campaigns."""
    with served(store, tmp_path) as client:
        yield client
