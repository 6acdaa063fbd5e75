import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql_server import Server, running_server

signal.signal(signal.SIGINT, signal.default_int_handler)
"""What a shell starts in its background ignores Ctrl-C, and every program that the tests start would inherit that."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that nobody waits for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """PostgreSQL, or a skipped test where there is none."""
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "hpltune.db")
    server: Server = request.getfixturevalue("server")
    return server.new_database()
