from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql_server import Server
from queue_contract import QueueContract

from results.store.store import Store


class TestSqliteQueue(QueueContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "hpltune.db") as store:
            yield store


class TestPostgresqlQueue(QueueContract):
    @pytest.fixture
    def store(self, server: Server) -> Iterator[Store]:
        with Store.open(server.new_database()) as store:
            yield store
