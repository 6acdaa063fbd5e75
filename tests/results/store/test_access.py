from collections.abc import Iterator
from pathlib import Path

import pytest
from access_contract import AccessContract

from results.store.service.tokens import AccessScope
from results.store.store import Store


class TestAccess(AccessContract):
    @pytest.fixture
    def store(self, place: str) -> Iterator[Store]:
        with Store.open(place) as store:
            yield store


def test_no_token_is_in_the_files_of_the_database(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hpltune.db") as store:
        _, token = store.tokens.create("ada", AccessScope.RUN, None)
    assert not [file for file in tmp_path.iterdir() if token.encode() in file.read_bytes()]
