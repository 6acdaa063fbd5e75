from collections.abc import Iterator
from pathlib import Path

import pytest
from replayed import replaying_service
from running_service import RunningService


@pytest.fixture
def service(home: Path) -> Iterator[RunningService]:
    """A process that offers a program which only prints what HPL would."""
    assert home
    with replaying_service() as running:
        yield running
