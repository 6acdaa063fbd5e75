from collections.abc import Iterator
from pathlib import Path

import pytest
from deliveries_contract import DeliveriesContract
from postgresql_server import Server

from results.store.store import Store


class TestSqliteDeliveries(DeliveriesContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "hpltune.db") as store:
            yield store


class TestPostgresqlDeliveries(DeliveriesContract):
    @pytest.fixture
    def store(self, server: Server) -> Iterator[Store]:
        with Store.open(server.new_database()) as store:
            yield store
