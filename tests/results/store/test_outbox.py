"""Events are stored with what they tell, in a file and on a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from outbox_contract import OutboxContract
from postgresql_server import Server

from results.store.store import Store


class TestSqliteOutbox(OutboxContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "hpltune.db") as store:
            yield store


class TestPostgresqlOutbox(OutboxContract):
    @pytest.fixture
    def store(self, server: Server) -> Iterator[Store]:
        with Store.open(server.new_database()) as store:
            yield store
