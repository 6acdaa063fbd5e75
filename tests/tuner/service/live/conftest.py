from collections.abc import Iterator
from pathlib import Path

import pytest
from running_service import OpenService, service_in_thread

from results.store.store import Store


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Iterator[OpenService]:
    """A server on the database that the test writes."""
    with service_in_thread(store, tmp_path) as service:
        yield service
