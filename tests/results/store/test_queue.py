from collections.abc import Iterator

import pytest
from queue_contract import QueueContract

from results.store.store import Store


class TestQueue(QueueContract):
    @pytest.fixture
    def store(self, place: str) -> Iterator[Store]:
        with Store.open(place) as store:
            yield store
