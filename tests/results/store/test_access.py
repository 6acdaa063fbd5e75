from collections.abc import Iterator
from pathlib import Path

import pytest
from access_contract import AccessContract
from postgresql_server import Server

from results.store.service.tokens import AccessScope
from results.store.store import Store


class TestSqliteAccess(AccessContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "hpltune.db") as store:
            yield store


class TestPostgresqlAccess(AccessContract):
    @pytest.fixture
    def store(self, server: Server) -> Iterator[Store]:
        with Store.open(server.new_database()) as store:
            yield store


def test_no_token_is_in_the_files_of_the_database(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hpltune.db") as store:
        _, token = store.tokens.create("ada", AccessScope.RUN, None)
    assert not [file for file in tmp_path.iterdir() if token.encode() in file.read_bytes()]
