from collections.abc import Iterator
from pathlib import Path

import pytest
from running_service import RunningService, running_service

from results.store.store import Store


@pytest.fixture
def service(store: Store, home: Path) -> Iterator[RunningService]:
    """A real server on the database that the test writes."""
    del home
    with running_service("--db", store.place) as service:
        yield service
