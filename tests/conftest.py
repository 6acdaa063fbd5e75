from collections.abc import Iterator

import pytest
from postgresql_server import Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """PostgreSQL, or a skipped test where there is none."""
    with running_server() as server:
        yield server
