from collections.abc import Iterator
from pathlib import Path

import pytest
from store_contract import StoreContract

from results.store.store import Store


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "new folder" / "hpltune 100%?#.db") as store:
            yield store
