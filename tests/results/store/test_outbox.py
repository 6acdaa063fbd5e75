"""Events are stored with what they tell, in a file and on a server."""

from collections.abc import Iterator

import pytest
from outbox_contract import OutboxContract

from results.store.store import Store


class TestOutbox(OutboxContract):
    @pytest.fixture
    def store(self, place: str) -> Iterator[Store]:
        with Store.open(place) as store:
            yield store
