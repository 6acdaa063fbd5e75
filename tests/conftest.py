import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from postgresql_server import Server, running_server

from hpl.blas.family import inherited_choices
from hpl.build.simgrid import SimGrid, SimGridError, find_simgrid
from hpl.search_paths import SearchPaths

if TYPE_CHECKING:
    from playwright.sync_api import Browser

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell's background job ignores Ctrl-C, and every program that the tests start would inherit that."""
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""The same for SIGHUP, which a program started by nohup ignores."""
os.environ.update(OMPI_MCA_mpi_yield_when_idle="1")
"""Tests that run HPL share the cores with others: ranks that wait for one without a core would take theirs from it."""
settings.register_profile("hpltune", deadline=None)
settings.load_profile("hpltune")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let those who look for rare faults draw more at random."""
    parser.addoption("--kills", type=int, default=2, metavar="N", help="kill a campaign N times at random moments")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that nobody waits for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the tests of all workers, so that HPL is compiled once; the user's own source where there is."""
    folder = tmp_path_factory.getbasetemp()
    cache = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "shared-cache"
    cache.mkdir(exist_ok=True)
    own = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hpltune/source"
    if own.is_dir():
        with suppress(FileExistsError):
            (cache / "source").symlink_to(own)
    return cache


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


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SearchPaths:
    """An empty cache for what BLAS libraries answer, and no variable that chooses their kernels or threads."""
    for variable in inherited_choices(dict(os.environ)):
        monkeypatch.delenv(variable)
    return SearchPaths(prefix=None, cache=tmp_path / "cache")


@pytest.fixture
def simgrid() -> SimGrid:
    """What simulates here, or a skipped test where nothing does."""
    try:
        return find_simgrid()
    except SimGridError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A real browser, or skipped tests where there is none."""
    from page_visit import running_browser

    with running_browser() as opened:
        yield opened
